package io.stormcut;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.storm.shade.org.json.simple.JSONValue;
import org.apache.storm.shade.org.json.simple.parser.JSONParser;
import org.apache.storm.shade.org.json.simple.parser.ParseException;

/** Small versioned JSON objects; the parser is the one inside storm-core. */
final class Json {
  private Json() {}

  /**
   * Parse an object whose `version` is at most `newest`.
   *
   * @throws Unusable if it is no such object; `what` names it in the message
   */
  static Map<?, ?> object(byte[] json, String what, int newest) throws Unusable {
    Object parsed = parse(json, what);
    if (!(parsed instanceof Map) || !(((Map<?, ?>) parsed).get("version") instanceof Long)) {
      throw new Unusable(what + " is not a JSON object with a version");
    }
    Map<?, ?> fields = (Map<?, ?>) parsed;
    long version = (Long) fields.get("version");
    if (version > newest) {
      throw new Unusable(
          what + " is of version " + version + ", known up to " + newest + ": update the plugin");
    }
    return fields;
  }

  /** Return a value as JSON; a text is taken to be some already. */
  static String text(Object value) {
    return value instanceof CharSequence ? value.toString() : JSONValue.toJSONString(value);
  }

  private static Object parse(byte[] json, String what) throws Unusable {
    if (json == null) {
      throw new Unusable(what + " is empty");
    }
    try {
      return new JSONParser().parse(new String(json, StandardCharsets.UTF_8));
    } catch (ParseException | NumberFormatException | Error malformed) {
      // The lexer throws Error at foreign characters.
      throw new Unusable(what + " is not JSON");
    }
  }
}
