import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A producer without retries and a consumer, on connections that stay open for some time. */
final class Load {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final String RENEWED = "successful-reauthentication-total";

    /** Writes numbers for a time and reads them; returns how many, and what became of sessions. */
    static JsonNode load(JsonNode step) throws Exception {
        Map<String, Object> shared = new HashMap<>(Login.with(Map.of(
                ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, step.get("bootstrap").asText(),
                ProducerConfig.ENABLE_METRICS_PUSH_CONFIG, "false"), step));
        Map<String, Object> writing = new HashMap<>(shared);
        writing.put(ProducerConfig.RETRIES_CONFIG, 0); // a lost answer is a failure
        writing.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, false);
        writing.put(ProducerConfig.ACKS_CONFIG, "all");
        TopicPartition partition = new TopicPartition(step.get("topic").asText(), 0);
        long end = System.nanoTime() + Duration.ofMillis(step.get("ms").asLong()).toNanos();
        AtomicInteger acknowledged = new AtomicInteger();
        AtomicInteger failed = new AtomicInteger();
        ByteArraySerializer to = new ByteArraySerializer();
        ByteArrayDeserializer from = new ByteArrayDeserializer();
        int sent = 0;
        int read = 0;
        ObjectNode result = Program.JSON.createObjectNode();
        try (Producer<byte[], byte[]> producer = new KafkaProducer<>(writing, to, to);
                Consumer<byte[], byte[]> consumer = new KafkaConsumer<>(shared, from, from)) {
            consumer.assign(List.of(partition));
            consumer.seek(partition, 0);
            while (System.nanoTime() < end) {
                byte[] number = ByteBuffer.allocate(Integer.BYTES).putInt(sent++).array();
                producer.send(new ProducerRecord<>(partition.topic(), 0, null, number), (where, error) -> {
                    (error == null ? acknowledged : failed).incrementAndGet();
                });
                read += inOrder(consumer, Duration.ofMillis(2), read);
            }
            producer.flush();
            long deadline = System.nanoTime() + TIMEOUT.toNanos();
            while (read < sent && failed.get() == 0 && System.nanoTime() < deadline) {
                read += inOrder(consumer, Duration.ofMillis(100), read);
            }
            result.put("producer_renewals", value(producer.metrics(), RENEWED));
            result.put("consumer_renewals", value(consumer.metrics(), RENEWED));
            result.put("closed", value(producer.metrics(), "connection-close-total")
                    + value(consumer.metrics(), "connection-close-total"));
        }
        result.put("sent", sent).put("read", read);
        return result.put("acknowledged", acknowledged.get()).put("failed", failed.get());
    }

    /** Reads what is there, which must be the next numbers. */
    private static int inOrder(Consumer<byte[], byte[]> consumer, Duration wait, int next) {
        int count = 0;
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(wait)) {
            int number = ByteBuffer.wrap(record.value()).getInt();
            if (number != next + count) {
                throw new IllegalStateException("read " + number + ", want " + (next + count));
            }
            count++;
        }
        return count;
    }

    private static long value(Map<MetricName, ? extends Metric> metrics, String name) {
        return metrics.entrySet().stream()
                .filter(each -> each.getKey().name().equals(name))
                .mapToLong(each -> ((Double) each.getValue().metricValue()).longValue())
                .sum();
    }

    private Load() {}
}
