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
        all.put("security.protocol", "SASL_SSL");
        all.put("ssl.truststore.type", "PEM");
        all.put("ssl.truststore.location", login.get("ca").asText());
        all.put("sasl.mechanism", mechanism);
        if (mechanism.equals("OAUTHBEARER")) {
            String url = login.get("token_url").asText();
            System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls", url);
            System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.files", url.replaceFirst("^file:/+", "/"));
            all.put("sasl.oauthbearer.token.endpoint.url", url);
            all.put("sasl.login.callback.handler.class", PACKAGE + "oauthbearer.OAuthBearerLoginCallbackHandler");
            all.put("sasl.jaas.config", PACKAGE + "oauthbearer.OAuthBearerLoginModule required;");
            return all;
        }
        String module = mechanism.equals("PLAIN") ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
        all.put("sasl.jaas.config", String.format(
                "%s%s required username=\"%s\" password=\"%s\";",
                PACKAGE, module, login.get("user").asText(), login.get("password").asText()));
        return all;
    }

    private Login() {}
}
