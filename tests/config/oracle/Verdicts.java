import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.Endpoint;
import org.apache.kafka.common.network.ChannelBuilders;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.JaasContext;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.security.authenticator.CredentialCache;
import org.apache.kafka.common.security.scram.internals.ScramMechanism;
import org.apache.kafka.common.security.token.delegation.internals.DelegationTokenCache;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Verdicts of Kafka about configurations of a node that is broker and controller. A line of standard input has the
 * settings in JSON. A line of standard output has the message of KafkaConfig, and that of the channels which the node
 * makes at its start for its listeners and for itself as a client; null is accepted. Stores of TLS are read with the
 * argument "tls"; without it SASL is tried without TLS.
 */
public final class Verdicts {
  public static void main(String[] arguments) throws Exception {
    ObjectMapper json = new ObjectMapper();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      Map<String, String> settings = json.readValue(line, new TypeReference<Map<String, String>>() {});
      ObjectNode verdict = json.createObjectNode().putNull("config").putNull("start");
      String step = "config";
      try {
        KafkaConfig config = new KafkaConfig(settings, false);
        step = "start";
        openChannels(config, arguments.length > 0 && arguments[0].equals("tls"));
      } catch (Exception | ExceptionInInitializerError error) {
        verdict.put(step, String.valueOf(error.getMessage()).lines().findFirst().orElse(""));
      }
      System.out.println(verdict);
    }
  }

  private static void openChannels(KafkaConfig config, boolean tls) throws Exception {
    for (Endpoint listener : CollectionConverters.asJava(config.listeners())) {
      SecurityProtocol protocol = protocol(listener.securityProtocol(), tls);
      ListenerName name = ListenerName.normalised(listener.listener());
      ChannelBuilders.serverChannelBuilder(
          name, name.equals(config.interBrokerListenerName()), protocol, config, new CredentialCache(),
          new DelegationTokenCache(ScramMechanism.mechanismNames()), Time.SYSTEM, new LogContext(), version -> null)
          .close();
    }
    openClient(config, protocol(config.interBrokerSecurityProtocol(), tls), config.interBrokerListenerName(),
        config.saslMechanismInterBrokerProtocol());
    ListenerName controller = ListenerName.normalised(config.controllerListenerNames().get(0));
    SecurityProtocol ofController = config.effectiveListenerSecurityProtocolMap().get(controller);
    openClient(config, protocol(ofController, tls), controller, config.saslMechanismControllerProtocol());
  }

  private static void openClient(KafkaConfig config, SecurityProtocol protocol, ListenerName name, String mechanism) {
    ChannelBuilders.clientChannelBuilder(
        protocol, JaasContext.Type.SERVER, config, name, mechanism, Time.SYSTEM, new LogContext()).close();
  }

  private static SecurityProtocol protocol(SecurityProtocol protocol, boolean tls) {
    if (tls) {
      return protocol;
    }
    return switch (protocol) {
      case SSL -> SecurityProtocol.PLAINTEXT;
      case SASL_SSL -> SecurityProtocol.SASL_PLAINTEXT;
      default -> protocol;
    };
  }
}
