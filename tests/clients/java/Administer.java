import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;

/** What the admin client does. */
final class Administer {
    private static Admin admin(JsonNode step) {
        return Admin.create(Login.with(Map.of(
                AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, step.get("bootstrap").asText(),
                AdminClientConfig.ENABLE_METRICS_PUSH_CONFIG, "false",
                AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, "30000"), step));
    }

    static JsonNode createTopic(JsonNode step) throws Exception {
        Map<String, String> configs = new HashMap<>();
        step.get("configs").properties().forEach(e -> configs.put(e.getKey(), e.getValue().asText()));
        NewTopic topic =
                new NewTopic(step.get("topic").asText(), step.get("partitions").asInt(), (short) 1);
        try (Admin admin = admin(step)) {
            admin.createTopics(List.of(topic.configs(configs))).all().get();
        }
        return null;
    }

    static JsonNode createPartitions(JsonNode step) throws Exception {
        NewPartitions count = NewPartitions.increaseTo(step.get("count").asInt());
        try (Admin admin = admin(step)) {
            admin.createPartitions(Map.of(step.get("topic").asText(), count)).all().get();
        }
        return null;
    }

    static JsonNode deleteTopic(JsonNode step) throws Exception {
        try (Admin admin = admin(step)) {
            admin.deleteTopics(List.of(step.get("topic").asText())).all().get();
        }
        return null;
    }

    static JsonNode listTopics(JsonNode step) throws Exception {
        try (Admin admin = admin(step)) {
            return Program.JSON.valueToTree(admin.listTopics().names().get());
        }
    }

    static JsonNode describeTopic(JsonNode step) throws Exception {
        String topic = step.get("topic").asText();
        ArrayNode found = Program.list();
        try (Admin admin = admin(step)) {
            TopicDescription description =
                    admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
            for (TopicPartitionInfo partition : description.partitions()) {
                ArrayNode row = found.addArray();
                row.add(partition.partition()).add(partition.leader().id());
                row.add(ids(partition.replicas())).add(ids(partition.isr()));
            }
        }
        return found;
    }

    private static ArrayNode ids(List<Node> nodes) {
        ArrayNode ids = Program.list();
        nodes.forEach(node -> ids.add(node.id()));
        return ids;
    }

    static JsonNode describeCluster(JsonNode step) throws Exception {
        ObjectNode found = Program.JSON.createObjectNode();
        try (Admin admin = admin(step)) {
            DescribeClusterResult cluster = admin.describeCluster();
            found.put("cluster_id", cluster.clusterId().get());
            found.put("controller", cluster.controller().get().id());
            ArrayNode nodes = found.putArray("nodes");
            for (Node node : cluster.nodes().get()) {
                nodes.addArray().add(node.id()).add(node.host()).add(node.port());
            }
        }
        return found;
    }

    private static ConfigResource resource(JsonNode step) {
        String kind = step.get("kind").asText().toUpperCase();
        return new ConfigResource(ConfigResource.Type.valueOf(kind), step.get("name").asText());
    }

    static JsonNode describeConfigs(JsonNode step) throws Exception {
        ObjectNode found = Program.JSON.createObjectNode();
        ConfigResource resource = resource(step);
        try (Admin admin = admin(step)) {
            for (ConfigEntry entry :
                    admin.describeConfigs(List.of(resource)).all().get().get(resource).entries()) {
                boolean set = entry.source() != ConfigEntry.ConfigSource.DEFAULT_CONFIG;
                found.putArray(entry.name()).add(entry.value()).add(set);
            }
        }
        return found;
    }

    static JsonNode alterConfigs(JsonNode step) throws Exception {
        List<AlterConfigOp> changes = new ArrayList<>();
        step.get("set").properties().forEach(e -> changes.add(new AlterConfigOp(
                new ConfigEntry(e.getKey(), e.getValue().asText()), AlterConfigOp.OpType.SET)));
        step.get("delete").forEach(name -> changes.add(new AlterConfigOp(
                new ConfigEntry(name.asText(), null), AlterConfigOp.OpType.DELETE)));
        try (Admin admin = admin(step)) {
            admin.incrementalAlterConfigs(Map.of(resource(step), changes)).all().get();
        }
        return null;
    }

    private static OffsetSpec spec(JsonNode time) {
        if (time.isNumber()) {
            return OffsetSpec.forTimestamp(time.asLong());
        }
        return switch (time.asText()) {
            case "earliest" -> OffsetSpec.earliest();
            case "latest" -> OffsetSpec.latest();
            default -> OffsetSpec.maxTimestamp();
        };
    }

    static JsonNode offsets(JsonNode step) throws Exception {
        TopicPartition asked =
                new TopicPartition(step.get("topic").asText(), step.get("partition").asInt());
        ArrayNode found = Program.list();
        try (Admin admin = admin(step)) {
            for (JsonNode time : step.get("times")) {
                ListOffsetsResult answer = admin.listOffsets(Map.of(asked, spec(time)));
                long offset = answer.partitionResult(asked).get().offset();
                found.add(offset == -1 ? null : offset);
            }
        }
        return found;
    }

    private Administer() {}
}
