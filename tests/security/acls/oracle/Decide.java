import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/**
 * Decisions of Kafka's StandardAuthorizer. A line of standard input is a case in JSON: entries and requests. A line of
 * standard output has a digit for each request: 1 is allowed, 0 is denied. A request without a resource name asks about
 * any resource of its type.
 */
public final class Decide {
  private record Client(KafkaPrincipal principal, InetAddress clientAddress) implements AuthorizableRequestContext {
    @Override
    public String listenerName() {
      return "PLAINTEXT";
    }

    @Override
    public SecurityProtocol securityProtocol() {
      return SecurityProtocol.PLAINTEXT;
    }

    @Override
    public int requestType() {
      return 0;
    }

    @Override
    public int requestVersion() {
      return 0;
    }

    @Override
    public String clientId() {
      return "";
    }

    @Override
    public int correlationId() {
      return 0;
    }
  }

  public static void main(String[] arguments) throws Exception {
    ObjectMapper json = new ObjectMapper();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      JsonNode given = json.readTree(line);
      try (Metrics metrics = new Metrics(); StandardAuthorizer authorizer = authorizer(given)) {
        authorizer.withPluginMetrics(new PluginMetricsImpl(metrics, Map.of()));
        StringBuilder decisions = new StringBuilder();
        for (JsonNode request : given.get("requests")) {
          decisions.append(decide(authorizer, request) == AuthorizationResult.ALLOWED ? '1' : '0');
        }
        System.out.println(decisions);
      }
    }
  }

  private static StandardAuthorizer authorizer(JsonNode given) {
    StandardAuthorizer authorizer = new StandardAuthorizer();
    authorizer.configure(Map.of(
        "super.users", given.get("super_users").asText(),
        "allow.everyone.if.no.acl.found", given.get("allow_unmatched").asText()));
    Map<Uuid, StandardAcl> acls = new HashMap<>();
    for (JsonNode acl : given.get("acls")) {
      acls.put(Uuid.randomUuid(), new StandardAcl(
          ResourceType.fromCode((byte) acl.get(0).asInt()),
          acl.get(1).asText(),
          PatternType.fromCode((byte) acl.get(2).asInt()),
          acl.get(3).asText(),
          acl.get(4).asText(),
          AclOperation.fromCode((byte) acl.get(5).asInt()),
          AclPermissionType.fromCode((byte) acl.get(6).asInt())));
    }
    authorizer.loadSnapshot(acls);
    authorizer.completeInitialLoad();
    return authorizer;
  }

  private static AuthorizationResult decide(StandardAuthorizer authorizer, JsonNode request) throws Exception {
    String[] principal = request.get(0).asText().split(":", 2);
    Client client = new Client(
        new KafkaPrincipal(principal[0], principal[1]), InetAddress.getByName(request.get(1).asText()));
    AclOperation operation = AclOperation.fromCode((byte) request.get(2).asInt());
    ResourceType type = ResourceType.fromCode((byte) request.get(3).asInt());
    if (request.get(4).isNull()) {
      return authorizer.authorizeByResourceType(client, operation, type);
    }
    ResourcePattern resource = new ResourcePattern(type, request.get(4).asText(), PatternType.LITERAL);
    return authorizer.authorize(client, List.of(new Action(operation, resource, 1, true, true))).get(0);
  }
}
