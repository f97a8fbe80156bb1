import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Transactions. */
final class Transact {
    private static final long TIMEOUT_NS = Duration.ofSeconds(30).toNanos();

    private static Producer<String, String> producer(JsonNode step) {
        Map<String, Object> settings = Map.of(
                ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, step.get("bootstrap").asText(),
                ProducerConfig.ENABLE_METRICS_PUSH_CONFIG, "false",
                ProducerConfig.TRANSACTIONAL_ID_CONFIG, step.get("id").asText(),
                ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, step.path("timeout_ms").asInt(60_000),
                ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, 30_000,
                ProducerConfig.LINGER_MS_CONFIG, "0");
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private static void send(Producer<String, String> producer, String topic, int partition, String value)
            throws Exception {
        producer.send(new ProducerRecord<>(topic, partition, null, value)).get();
    }

    static JsonNode transact(JsonNode step) throws Exception {
        String topic = step.get("topic").asText();
        try (Producer<String, String> producer = producer(step)) {
            producer.initTransactions();
            for (JsonNode transaction : step.get("transactions")) {
                producer.beginTransaction();
                for (JsonNode row : transaction.get("values")) {
                    send(producer, topic, row.get(0).asInt(), row.get(1).asText());
                }
                end(producer, transaction.get("commits").asBoolean());
            }
        }
        return null;
    }

    private static void end(Producer<String, String> producer, boolean commits) {
        if (commits) {
            producer.commitTransaction();
        } else {
            producer.abortTransaction();
        }
    }

    /** Copies a partition with the offsets that were read; the first transaction is aborted. */
    static JsonNode copy(JsonNode step) throws Exception {
        TopicPartition from = new TopicPartition(step.get("topic").asText(), 0);
        int count = step.get("count").asInt();
        Map<String, Object> settings = new HashMap<>(Map.of(
                ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, step.get("bootstrap").asText(),
                ConsumerConfig.ENABLE_METRICS_PUSH_CONFIG, "false",
                ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false",
                ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest",
                ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed",
                ConsumerConfig.MAX_POLL_RECORDS_CONFIG, Math.max(1, count / 3),
                ConsumerConfig.GROUP_ID_CONFIG, step.get("group").asText(),
                ConsumerConfig.GROUP_PROTOCOL_CONFIG, step.get("protocol").asText()));
        StringDeserializer text = new StringDeserializer();
        ObjectNode result = Program.JSON.createObjectNode();
        try (Consumer<String, String> consumer = new KafkaConsumer<>(settings, text, text);
                Producer<String, String> producer = producer(step)) {
            consumer.subscribe(List.of(from.topic()));
            producer.initTransactions();
            boolean aborts = true;
            long deadline = System.nanoTime() + TIMEOUT_NS;
            for (int copied = 0; copied < count; ) {
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException(copied + " records were copied, want " + count);
                }
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(500));
                if (records.isEmpty()) {
                    continue;
                }
                long first = records.iterator().next().offset();
                producer.beginTransaction();
                for (ConsumerRecord<String, String> record : records) {
                    send(producer, step.get("to").asText(), 0, record.value());
                }
                long next = first + records.count();
                producer.sendOffsetsToTransaction(
                        Map.of(from, new OffsetAndMetadata(next)), consumer.groupMetadata());
                end(producer, !aborts);
                if (aborts) {
                    OffsetAndMetadata committed = consumer.committed(Set.of(from)).get(from);
                    result.put("after_abort", committed == null ? null : committed.offset());
                    consumer.seek(from, first);
                    aborts = false;
                } else {
                    copied += records.count();
                }
            }
            result.put("committed", consumer.committed(Set.of(from)).get(from).offset());
        }
        return result;
    }

    /** A second producer of one transactional id commits; then the first one tries to. */
    static JsonNode fence(JsonNode step) throws Exception {
        String topic = step.get("topic").asText();
        try (Producer<String, String> zombie = producer(step);
                Producer<String, String> producer = producer(step)) {
            zombie.initTransactions();
            zombie.beginTransaction();
            send(zombie, topic, 0, "zombie");
            producer.initTransactions();
            producer.beginTransaction();
            send(producer, topic, 0, "new");
            producer.commitTransaction();
            try {
                zombie.commitTransaction();
            } catch (KafkaException error) {
                return Program.JSON.valueToTree(error.getClass().getSimpleName());
            }
        }
        return null;
    }

    /** A transaction that is open longer than it may be, by the error of the record after it. */
    static JsonNode expire(JsonNode step) throws Exception {
        String topic = step.get("topic").asText();
        ObjectNode result = Program.JSON.createObjectNode();
        try (Producer<String, String> producer = producer(step)) {
            producer.initTransactions();
            producer.beginTransaction();
            long deadline = System.nanoTime() + TIMEOUT_NS;
            try {
                while (System.nanoTime() < deadline) {
                    send(producer, topic, 0, "late");
                }
            } catch (ExecutionException error) {
                result.put("error", error.getCause().getClass().getSimpleName());
            }
            try {
                producer.abortTransaction();
                producer.beginTransaction();
                send(producer, topic, 0, "after");
                producer.commitTransaction();
                result.put("continues", true);
            } catch (KafkaException error) {
                result.put("continues", false);
                result.put("fatal", error.getClass().getSimpleName());
            }
        }
        return result;
    }

    private Transact() {}
}
