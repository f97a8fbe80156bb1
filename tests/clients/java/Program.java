import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.common.protocol.Errors;

/** The Java client: all steps, one line of JSON in and one out for each (docs/reference/clients.md). */
public final class Program {
    static final ObjectMapper JSON = new ObjectMapper();

    interface Step {
        JsonNode take(JsonNode step) throws Exception;
    }

    private static final Map<String, Step> STEPS = Map.ofEntries(
            Map.entry("create_topic", Administer::createTopic),
            Map.entry("create_partitions", Administer::createPartitions),
            Map.entry("delete_topic", Administer::deleteTopic),
            Map.entry("list_topics", Administer::listTopics),
            Map.entry("describe_topic", Administer::describeTopic),
            Map.entry("describe_cluster", Administer::describeCluster),
            Map.entry("describe_configs", Administer::describeConfigs),
            Map.entry("alter_configs", Administer::alterConfigs),
            Map.entry("offsets", Administer::offsets),
            Map.entry("produce", Transfer::produce),
            Map.entry("read", Transfer::read),
            Map.entry("subscribe", Transfer::subscribe),
            Map.entry("load", Load::load),
            Map.entry("transact", Transact::transact),
            Map.entry("copy", Transact::copy),
            Map.entry("fence", Transact::fence),
            Map.entry("expire", Transact::expire));

    public static void main(String[] arguments) throws Exception {
        PrintStream results = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader steps =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = steps.readLine(); line != null; line = steps.readLine()) {
            JsonNode step = JSON.readTree(line);
            results.println(answer(STEPS.get(step.get("do").asText()), step));
        }
    }

    private static JsonNode answer(Step taken, JsonNode step) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            answer.set("result", taken.take(step));
        } catch (Exception error) {
            Throwable cause = error;
            while (cause.getCause() != null
                    && (cause instanceof ExecutionException || cause instanceof CompletionException)) {
                cause = cause.getCause();
            }
            cause.printStackTrace();
            Errors known = Errors.forException(cause);
            answer.put("error", known == Errors.UNKNOWN_SERVER_ERROR ? -1 : known.code());
            answer.put("message", cause.toString());
        }
        return answer;
    }

    static ArrayNode list() {
        return JSON.createArrayNode();
    }

    private Program() {}
}
