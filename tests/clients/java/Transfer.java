import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Records between files and topics. */
final class Transfer {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final int NEW_TOPICS_MS = 1000; // how often a member looks for topics that have come
    private static final Map<String, String> ASSIGNORS = Map.of(
            "range", RangeAssignor.class.getName(),
            "sticky", StickyAssignor.class.getName(),
            "cooperative-sticky", CooperativeStickyAssignor.class.getName());

    static JsonNode produce(JsonNode step) throws Exception {
        Map<String, Object> settings = Login.with(Map.of(
                ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, step.get("bootstrap").asText(),
                ProducerConfig.ENABLE_METRICS_PUSH_CONFIG, "false",
                ProducerConfig.COMPRESSION_TYPE_CONFIG, step.get("codec").asText(),
                ProducerConfig.ACKS_CONFIG, step.get("acks").asText(),
                ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, step.get("idempotent").asText(),
                ProducerConfig.MAX_REQUEST_SIZE_CONFIG, step.get("max_bytes").asText(),
                ProducerConfig.LINGER_MS_CONFIG, "5"), step);
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        ByteArraySerializer bytes = new ByteArraySerializer();
        try (Producer<byte[], byte[]> producer = new KafkaProducer<>(settings, bytes, bytes);
                BufferedReader lines = Files.newBufferedReader(Path.of(step.get("file").asText()))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                sent.add(producer.send(record(step.get("topic").asText(), Program.JSON.readTree(line))));
            }
        }
        ArrayNode offsets = Program.list();
        for (Future<RecordMetadata> each : sent) {
            offsets.add(each.get().offset());
        }
        return offsets;
    }

    private static ProducerRecord<byte[], byte[]> record(String topic, JsonNode row) throws IOException {
        Long timestamp = row.get(1).isNull() ? null : row.get(1).asLong();
        ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(
                topic, row.get(0).asInt(), timestamp, row.get(2).binaryValue(), row.get(3).binaryValue());
        for (JsonNode header : row.get(4)) {
            record.headers().add(header.get(0).asText(), header.get(1).binaryValue());
        }
        return record;
    }

    static JsonNode read(JsonNode step) throws Exception {
        Map<String, Object> settings = Map.of(
                ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, step.get("bootstrap").asText(),
                ConsumerConfig.ENABLE_METRICS_PUSH_CONFIG, "false",
                ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
        Map<TopicPartition, Long> ends = new HashMap<>();
        int count = 0;
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        try (Consumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, bytes, bytes);
                BufferedWriter lines = Files.newBufferedWriter(Path.of(step.get("file").asText()))) {
            Map<TopicPartition, Long> starts = new HashMap<>();
            long left = 0;
            for (JsonNode span : step.get("spans")) {
                TopicPartition partition = new TopicPartition(step.get("topic").asText(), span.get(0).asInt());
                starts.put(partition, span.get(1).asLong());
                ends.put(partition, span.get(2).asLong());
                left += span.get(2).asLong() - span.get(1).asLong();
            }
            consumer.assign(starts.keySet());
            starts.forEach(consumer::seek);
            long deadline = System.nanoTime() + TIMEOUT.toNanos();
            while (count < left) {
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException(count + " records in " + TIMEOUT + ", want " + left);
                }
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    TopicPartition partition = new TopicPartition(record.topic(), record.partition());
                    if (record.offset() < ends.get(partition)) {
                        lines.write(row(record) + "\n");
                        count++;
                    }
                }
            }
        }
        return Program.JSON.valueToTree(count);
    }

    /** What is processed is committed; what a rebalance refuses, another member processes again. */
    static JsonNode subscribe(JsonNode step) throws Exception {
        Map<String, Object> settings = new HashMap<>(Map.of(
                ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, step.get("bootstrap").asText(),
                ConsumerConfig.ENABLE_METRICS_PUSH_CONFIG, "false",
                ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false",
                ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest",
                ConsumerConfig.GROUP_ID_CONFIG, step.get("group").asText(),
                ConsumerConfig.METADATA_MAX_AGE_CONFIG, NEW_TOPICS_MS,
                ConsumerConfig.GROUP_PROTOCOL_CONFIG, step.get("protocol").asText()));
        if (step.get("protocol").asText().equals("classic")) {
            int sessionMs = step.get("session_ms").asInt();
            settings.put(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, sessionMs);
            settings.put(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, sessionMs / 6);
            settings.put(
                    ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG,
                    ASSIGNORS.get(step.get("assignor").asText()));
        }
        Path until = Path.of(step.get("until").asText());
        int count = 0;
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        try (Ownership ownership = new Ownership(step); // closed last: the consumer's end revokes
                Consumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, bytes, bytes);
                BufferedWriter lines = Files.newBufferedWriter(
                        Path.of(step.get("file").asText()),
                        StandardOpenOption.CREATE,
                        StandardOpenOption.APPEND)) {
            subscribe(consumer, step, ownership);
            while (!Files.exists(until)) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    lines.write(row(record) + "\n");
                    count++;
                }
                lines.flush();
                try {
                    consumer.commitSync();
                } catch (CommitFailedException | RebalanceInProgressException | RetriableException refused) {
                    // A rebalance: it is read again from where it was committed.
                }
            }
        }
        return Program.JSON.valueToTree(count);
    }

    /** By an expression the broker looks for topics, in the classic protocol the client itself. */
    private static void subscribe(
            Consumer<byte[], byte[]> consumer, JsonNode step, Ownership ownership) {
        String topic = step.get("topic").asText();
        if (!step.get("expression").asBoolean()) {
            consumer.subscribe(List.of(topic), ownership);
        } else if (step.get("protocol").asText().equals("classic")) {
            consumer.subscribe(Pattern.compile(topic), ownership);
        } else {
            consumer.subscribe(new SubscriptionPattern(topic), ownership);
        }
    }

    private static ArrayNode row(ConsumerRecord<byte[], byte[]> record) {
        ArrayNode row = Program.list();
        row.add(record.partition()).add(record.offset()).add(record.timestamp());
        row.add(text(record.key())).add(text(record.value()));
        ArrayNode headers = row.addArray();
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(text(header.value()));
        }
        return row;
    }

    private static String text(byte[] content) {
        return content == null ? null : Base64.getEncoder().encodeToString(content);
    }

    private Transfer() {}
}
