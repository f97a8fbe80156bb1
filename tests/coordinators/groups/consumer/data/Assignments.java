// Writes assignments.json: what Apache Kafka's own assignors and hashes give for seeded cases.
//
// Run with Kafka's broker jars (the ones of tests/benchmarks/apache_kafka/pom.xml) on the class path:
//   java -cp "$HOME/.cache/trio-kafka/apache-kafka/broker/*" Assignments.java > assignments.json

import com.dynatrace.hash4j.hashing.Hashing;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.Utils;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

public class Assignments {
    static Uuid topic(int n) {
        return new Uuid(n % 2 == 0 ? n + 1L : -n - 1L, 7L * n + 1);
    }

    static String hex(Uuid id) {
        return String.format("%016x%016x", id.getMostSignificantBits(), id.getLeastSignificantBits());
    }

    static String text(Map<String, Map<Uuid, Set<Integer>>> assignment) {
        List<String> members = new ArrayList<>();
        assignment.forEach((member, topics) -> {
            List<String> found = new ArrayList<>();
            Map<String, Set<Integer>> sorted = new TreeMap<>();
            topics.forEach((id, numbers) -> sorted.put(hex(id), new TreeSet<>(numbers)));
            sorted.forEach((id, numbers) -> {
                if (!numbers.isEmpty()) found.add("\"" + id + "\": " + numbers);
            });
            members.add("\"" + member + "\": {" + String.join(", ", found) + "}");
        });
        return "{" + String.join(", ", members) + "}";
    }

    static Map<String, Map<Uuid, Set<Integer>>> run(
        ConsumerGroupPartitionAssignor assignor,
        Map<Uuid, Integer> sizes,
        Map<String, Set<Uuid>> wants,
        Map<String, String> instances,
        Map<String, Map<Uuid, Set<Integer>>> before
    ) {
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new LinkedHashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        wants.forEach((member, topics) -> {
            Map<Uuid, Set<Integer>> had = before.getOrDefault(member, Map.of());
            members.put(member, new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), Optional.ofNullable(instances.get(member)), topics,
                new Assignment(Collections.unmodifiableMap(had))));
            had.forEach((id, numbers) -> numbers.forEach(
                number -> owners.computeIfAbsent(id, k -> new HashMap<>()).put(number, member)));
        });
        boolean same = new LinkedHashSet<>(wants.values()).size() == 1;
        Map<String, MemberAssignment> found = assignor.assign(
            new GroupSpecImpl(Collections.unmodifiableMap(members),
                same ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS, owners),
            new SubscribedTopicDescriber() {
                public int numPartitions(Uuid id) {
                    return sizes.getOrDefault(id, -1);
                }

                public Set<String> racksForPartition(Uuid id, int partition) {
                    return Set.of();
                }
            }).members();
        Map<String, Map<Uuid, Set<Integer>>> result = new LinkedHashMap<>();
        wants.keySet().forEach(member -> result.put(
            member, found.containsKey(member) ? found.get(member).partitions() : Map.of()));
        return result;
    }

    static void cases(List<String> out, String name, int seed, boolean sameTopics, int mostTopics) {
        Random random = new Random(seed);
        ConsumerGroupPartitionAssignor assignor =
            name.equals("range") ? new RangeAssignor() : new UniformAssignor();
        int topics = 1 + random.nextInt(mostTopics);
        Map<Uuid, Integer> sizes = new LinkedHashMap<>();
        for (int i = 0; i < topics; i++) sizes.put(topic(i), 1 + random.nextInt(9));
        Map<String, Set<Uuid>> wants = new LinkedHashMap<>();
        Map<String, String> instances = new HashMap<>();
        int next = 0;
        Map<String, Map<Uuid, Set<Integer>>> before = new LinkedHashMap<>();
        for (int round = 0; round < 4; round++) {
            for (int joining = 1 + random.nextInt(3); joining > 0; joining--) {
                String member = "m" + next++;
                wants.put(member, Set.of());
                if (random.nextInt(4) == 0) instances.put(member, "i" + (100 - next));
            }
            if (round > 0 && random.nextBoolean()) {
                String leaving = new ArrayList<>(wants.keySet()).get(random.nextInt(wants.size() - 1));
                wants.remove(leaving);
                before.remove(leaving);
            }
            if (round == 2) sizes.replaceAll((id, size) -> size + random.nextInt(3));
            for (String member : wants.keySet()) {
                if (!sameTopics && !wants.get(member).isEmpty() && random.nextInt(3) > 0) continue;
                Set<Uuid> some = new LinkedHashSet<>();
                for (Uuid id : sizes.keySet()) if (sameTopics || random.nextBoolean()) some.add(id);
                if (some.isEmpty()) some.add(topic(0));
                wants.put(member, some);
            }
            Map<String, Map<Uuid, Set<Integer>>> after =
                run(assignor, sizes, wants, instances, before);
            List<String> members = new ArrayList<>();
            wants.forEach((member, ids) -> {
                List<String> texts = new ArrayList<>();
                ids.forEach(id -> texts.add("\"" + hex(id) + "\""));
                String instance = instances.get(member);
                members.add("[\"" + member + "\", " + (instance == null ? "null" : "\"" + instance + "\"")
                    + ", " + texts + "]");
            });
            List<String> sizesText = new ArrayList<>();
            sizes.forEach((id, size) -> sizesText.add("\"" + hex(id) + "\": " + size));
            out.add("{\"assignor\": \"" + name + "\", \"same\": "
                + (new LinkedHashSet<>(wants.values()).size() == 1)
                + ", \"sizes\": {" + String.join(", ", sizesText) + "}, \"members\": " + members
                + ", \"before\": " + text(before) + ", \"after\": " + text(after) + "}");
            before = after;
        }
    }

    static class Topic implements CoordinatorMetadataImage.TopicMetadata {
        final Uuid id;
        final String name;
        final List<List<String>> racks;

        Topic(Uuid id, String name, List<List<String>> racks) {
            this.id = id;
            this.name = name;
            this.racks = racks;
        }

        public String name() {
            return name;
        }

        public Uuid id() {
            return id;
        }

        public int partitionCount() {
            return racks.size();
        }

        public List<String> partitionRacks(int partition) {
            return new ArrayList<>(racks.get(partition));
        }
    }

    static String hashes() {
        List<Topic> topics = List.of(
            new Topic(topic(0), "a", List.of(List.of())),
            new Topic(topic(1), "orders.eu", List.of(List.of("r2", "r1"), List.of("r1", "r1"))),
            new Topic(topic(2), "x".repeat(200), Collections.nCopies(300, List.of("rack-\u00e9"))));
        Map<String, Long> all = new HashMap<>();
        List<String> out = new ArrayList<>();
        for (Topic topic : topics) {
            long hash = Utils.computeTopicHash(topic.name, new CoordinatorMetadataImage() {
                public Set<Uuid> topicIds() {
                    return Set.of(topic.id);
                }

                public Set<String> topicNames() {
                    return Set.of(topic.name);
                }

                public Optional<TopicMetadata> topicMetadata(String name) {
                    return Optional.of(topic);
                }

                public Optional<TopicMetadata> topicMetadata(Uuid id) {
                    return Optional.of(topic);
                }

                public CoordinatorMetadataDelta emptyDelta() {
                    return null;
                }

                public long version() {
                    return 0;
                }

                public boolean isEmpty() {
                    return false;
                }
            });
            all.put(topic.name, hash);
            List<String> racks = new ArrayList<>();
            topic.racks.forEach(of -> racks.add(
                of.isEmpty() ? "[]" : "[\"" + String.join("\", \"", of) + "\"]"));
            out.add("{\"id\": \"" + hex(topic.id) + "\", \"name\": \"" + topic.name + "\", \"racks\": "
                + racks + ", \"hash\": " + hash + "}");
        }
        List<String> lengths = new ArrayList<>();
        for (int size : new int[] {4, 7, 8, 9, 16, 17, 32, 33, 64, 65, 96, 97, 128, 129, 143, 144, 239, 240,
            241, 256, 1023, 1024, 1025, 1088, 1089, 2048, 5000}) {
            byte[] data = new byte[size];
            for (int i = 0; i < size; i++) data[i] = (byte) (i * 7);
            lengths.add("{\"size\": " + size + ", \"hash\": " + Hashing.xxh3_64().hashBytesToLong(data) + "}");
        }
        return "{\"topics\": [" + String.join(",\n", out) + "], \"lengths\": " + lengths + ", \"group\": "
            + Utils.computeGroupHash(all) + "}";
    }

    public static void main(String[] args) {
        List<String> out = new ArrayList<>();
        for (int seed = 1; seed <= 12; seed++) {
            cases(out, "range", seed, seed % 2 == 0, 4);
            cases(out, "uniform", 100 + seed, false, 5);
            cases(out, "uniform", 200 + seed, true, 1);
            cases(out, "uniform", 300 + seed, true, 4);
        }
        System.out.println("{\"hashes\": " + hashes() + ",\n\"cases\": [\n" + String.join(",\n", out) + "\n]}");
    }
}
