import io.keyway.hbase.thrift.TCellVisibility;
import io.keyway.hbase.thrift.TColumnValue;
import io.keyway.hbase.thrift.TDurability;
import io.keyway.hbase.thrift.TPut;
import io.keyway.hbase.thrift.TResult;
import io.keyway.thrift.Order;
import io.keyway.thrift.Page;
import io.keyway.thrift.Query;
import io.keyway.thrift.Range;
import io.keyway.thrift.Value;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Supplier;
import org.apache.thrift.TBase;
import org.apache.thrift.TDeserializer;
import org.apache.thrift.TSerializer;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TProtocolFactory;

/** Random values through the codec and back, with the Java runtime: DriveJava PIPE SEED ROUNDS. */
public final class DriveJava {
  private static final long[] SPECIAL = {0, 1, -1, 63, 64, -64, -65, Integer.MAX_VALUE, Integer.MIN_VALUE,
    Long.MAX_VALUE, Long.MIN_VALUE};
  private static final int[] LETTERS = "abcxyz09 äß水\uD83D\uDE00".codePoints().toArray();
  private static final TProtocolFactory[] PROTOCOLS = {new TBinaryProtocol.Factory(), new TCompactProtocol.Factory()};

  private final Random random;

  private DriveJava(long seed) {
    random = new Random(seed);
  }

  private boolean chance(double share) {
    return random.nextDouble() < share;
  }

  private long number() {
    return chance(0.3) ? SPECIAL[random.nextInt(SPECIAL.length)] : random.nextLong();
  }

  private ByteBuffer blob() {
    int[] sizes = {0, 1, 5, 16, 17, 100, 300};
    byte[] made = new byte[sizes[random.nextInt(sizes.length)]];
    random.nextBytes(made);
    return ByteBuffer.wrap(made);
  }

  private String text() {
    StringBuilder made = new StringBuilder();
    for (int i = random.nextInt(20); i > 0; i--) {
      made.appendCodePoint(LETTERS[random.nextInt(LETTERS.length)]);
    }
    return made.toString();
  }

  private <T> List<T> many(Supplier<T> make) {
    int[] counts = {0, 1, 2, 3, 15, 16};
    List<T> made = new ArrayList<>();
    for (int i = counts[random.nextInt(counts.length)]; i > 0; i--) {
      made.add(make.get());
    }
    return made;
  }

  private Value value() {
    switch (random.nextInt(5)) {
      case 0: return Value.flag(chance(0.5));
      case 1: return Value.number(number());
      case 2: return Value.real(random.nextGaussian() * 1e9);
      case 3: return Value.text(text());
      default: return Value.bytes(blob());
    }
  }

  private Map<String, Value> fields() {
    Map<String, Value> made = new HashMap<>();
    for (int i = random.nextInt(5); i > 0; i--) {
      made.put(text(), value());
    }
    return made;
  }

  private Range range() {
    Range made = new Range(text());
    if (chance(0.6)) made.setFrom_value(value());
    if (chance(0.6)) made.setTo_value(value());
    made.setFrom_inclusive(chance(0.5));
    made.setTo_inclusive(chance(0.5));
    return made;
  }

  private Query query() {
    Query made = new Query(text());
    if (chance(0.6)) made.setBound(fields());
    if (chance(0.6)) {
      Map<String, List<Value>> any = new HashMap<>();
      for (int i = 0; i < 3; i++) {
        any.put(text(), many(this::value));
      }
      made.setBound_any(any);
    }
    if (chance(0.6)) made.setRange(range());
    if (chance(0.6)) made.setOrder(Order.DESCENDING);
    if (chance(0.6)) made.setColumns(many(this::text));
    if (chance(0.6)) made.setLimit(number());
    if (chance(0.6)) made.setPage_rows((int) number());
    if (chance(0.6)) made.setFull_scan(chance(0.5));
    if (chance(0.6)) made.setSkip_undecodable(chance(0.5));
    return made;
  }

  private Page page() {
    Page made = new Page(many(this::fields), number(), number());
    if (chance(0.6)) made.setCursor(blob());
    return made;
  }

  private TColumnValue cell() {
    TColumnValue made = new TColumnValue(blob(), blob(), blob());
    if (chance(0.6)) made.setTimestamp(number());
    if (chance(0.3)) made.setTags(blob());
    if (chance(0.3)) made.setType((byte) number());
    return made;
  }

  private TPut put() {
    TPut made = new TPut(blob(), many(this::cell));
    if (chance(0.6)) made.setTimestamp(number());
    if (chance(0.6)) {
      Map<ByteBuffer, ByteBuffer> attributes = new HashMap<>();
      for (int i = 0; i < 3; i++) {
        attributes.put(blob(), blob());
      }
      made.setAttributes(attributes);
    }
    if (chance(0.6)) made.setDurability(TDurability.ASYNC_WAL);
    if (chance(0.6)) made.setCellVisibility(new TCellVisibility().setExpression(text()));
    return made;
  }

  private TResult result() {
    TResult made = new TResult(many(this::cell));
    if (chance(0.6)) made.setRow(blob());
    made.setStale(chance(0.5));
    made.setPartial(chance(0.5));
    return made;
  }

  private static byte[] through(DataOutputStream in, DataInputStream out, int table, int source, int target,
      byte[] bytes) throws Exception {
    in.writeByte(table);
    in.writeByte(source);
    in.writeByte(target);
    in.writeInt(bytes.length);
    in.write(bytes);
    in.flush();
    int status = out.readByte();
    byte[] answer = new byte[out.readInt()];
    out.readFully(answer);
    if (status != 0) {
      throw new IllegalStateException("the codec refused: " + new String(answer, "UTF-8"));
    }
    return answer;
  }

  public static void main(String[] arguments) throws Exception {
    DriveJava maker = new DriveJava(Long.parseLong(arguments[1]));
    List<Supplier<TBase<?, ?>>> makers = List.of(maker::query, maker::page, maker::put, maker::result);
    Process pipe = new ProcessBuilder(arguments[0]).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    DataOutputStream in = new DataOutputStream(new java.io.BufferedOutputStream(pipe.getOutputStream()));
    DataInputStream out = new DataInputStream(new java.io.BufferedInputStream(pipe.getInputStream()));
    int trips = 0;
    for (int round = Integer.parseInt(arguments[2]); round > 0; round--) {
      for (int table = 0; table < makers.size(); table++) {
        TBase<?, ?> value = makers.get(table).get();
        for (int trip = 0; trip < 4; trip++) {
          byte[] bytes = new TSerializer(PROTOCOLS[trip / 2]).serialize(value);
          byte[] answer = through(in, out, table, trip / 2, trip % 2, bytes);
          TBase<?, ?> back = value.getClass().getDeclaredConstructor().newInstance();
          new TDeserializer(PROTOCOLS[trip % 2]).deserialize(back, answer);
          if (!back.equals(value)) {
            throw new IllegalStateException(value + " came back as " + back);
          }
          trips++;
        }
      }
    }
    in.close();
    System.out.println(trips + " round trips");
  }
}
