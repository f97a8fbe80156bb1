import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Map;

/** Settings of a client of a SASL_SSL listener. */
final class Login {
    private static final String PACKAGE = "org.apache.kafka.common.security.";

    /** Returns settings with those of the step's login, if it has one. */
    static Map<String, Object> with(Map<String, ?> settings, JsonNode step) {
        Map<String, Object> all = new HashMap<>(settings);
        JsonNode login = step.get("login");
        if (login == null) {
            return all;
        }
        String mechanism = login.get("mechanism").asText();
        String module = mechanism.equals("PLAIN") ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
        all.put("security.protocol", "SASL_SSL");
        all.put("ssl.truststore.type", "PEM");
        all.put("ssl.truststore.location", login.get("ca").asText());
        all.put("sasl.mechanism", mechanism);
        all.put("sasl.jaas.config", String.format(
                "%s%s required username=\"%s\" password=\"%s\";",
                PACKAGE, module, login.get("user").asText(), login.get("password").asText()));
        return all;
    }

    private Login() {}
}
