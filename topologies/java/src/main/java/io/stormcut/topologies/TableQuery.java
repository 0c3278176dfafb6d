package io.stormcut.topologies;

import java.util.HashMap;
import java.util.Map;
import java.util.StringJoiner;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.params.SetParams;

/** Looks a row up by its key in a table in Redis; yields one of its columns. */
public class TableQuery extends Task {
  private static final String TABLE = "model-driven";
  private static final String FILLING = "model-driven-is-filled";
  private static final int PATIENCE_SECONDS = 60;
  private static final int COLUMNS = 20;
  private static final int COLUMN = 3;
  private static final int CHUNK = 1000;
  private static final int TIMEOUT_MILLIS = 2000;

  private transient String address;
  private transient int rows;
  private transient double delay;
  private transient Jedis redis;

  @Override
  void prepare(Options options, int task) {
    address = options.text("redis");
    rows = options.whole("table.rows");
    delay = options.number("table.delay.ms");
  }

  @Override
  long work(long number) throws Unavailable {
    sleep(delay);
    String row;
    try {
      row = find(key(number));
    } catch (JedisException error) {
      close();
      throw new Unavailable("Redis does not answer", error);
    }
    if (row == null) {
      throw new Unavailable("Redis does not hold all of " + TABLE + " yet", null);
    }
    return Long.parseLong(row.split(";")[COLUMN]);
  }

  private String key(long number) {
    return String.valueOf(number * 7919 % rows);
  }

  private String find(String key) {
    if (redis == null) {
      redis = connect();
    }
    String row = redis.hget(TABLE, key);
    return row == null && isFilled() ? redis.hget(TABLE, key) : row;
  }

  private Jedis connect() {
    int at = address.lastIndexOf('@');
    int colon = address.lastIndexOf(':');
    Jedis found =
        new Jedis(
            address.substring(at + 1, colon),
            Integer.parseInt(address.substring(colon + 1)),
            TIMEOUT_MILLIS);
    if (at >= 0) {
      found.auth(address.substring(0, at));
    }
    return found;
  }

  private void close() {
    if (redis != null) {
      redis.close();
      redis = null;
    }
  }

  /** Fill the table unless another task does. */
  private boolean isFilled() {
    if (redis.set(FILLING, "", SetParams.setParams().nx().ex(PATIENCE_SECONDS)) == null) {
      return false;
    }
    for (int begin = 0; begin < rows; begin += CHUNK) {
      Map<String, String> chunk = new HashMap<>();
      for (int row = begin; row < Math.min(rows, begin + CHUNK); row++) {
        chunk.put(String.valueOf(row), row(row));
      }
      redis.hset(TABLE, chunk);
    }
    return true;
  }

  private static String row(int row) {
    StringJoiner columns = new StringJoiner(";");
    for (int column = 0; column < COLUMNS; column++) {
      columns.add(String.format("%09d", (row * 17L + column * 13L) % 1000));
    }
    return columns.toString();
  }
}
