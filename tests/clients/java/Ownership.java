import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.common.TopicPartition;

/** Writes down which partitions a member has, and since when: see Ownership in program.py. */
final class Ownership implements ConsumerRebalanceListener, AutoCloseable {
    private final BufferedWriter lines;

    Ownership(JsonNode step) throws IOException {
        String file = step.get("file").asText();
        Path owned = Path.of(file.substring(0, file.lastIndexOf('.')) + ".owned");
        lines = Files.newBufferedWriter(owned, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        note("assigned", partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        note("revoked", partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        note("lost", partitions);
    }

    private void note(String event, Collection<TopicPartition> partitions) {
        ArrayNode row = Program.list();
        row.add(event).add(System.nanoTime());
        ArrayNode numbers = row.addArray();
        partitions.forEach(partition -> numbers.add(partition.partition()));
        try {
            lines.write(row + "\n");
            lines.flush();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    @Override
    public void close() throws IOException {
        lines.close();
    }
}
