/* Makes java_ring.json: `java JavaRing.java > java_ring.json`.
 *
 * The ring that Java services commonly write: a TreeMap of points, FNV-1a of 32 bits over the UTF-16 units with five
 * shifts behind it, Math.abs, ceilingEntry, past the last point the first. Virtual node i of a node is hashed as the
 * node's name followed by i.
 */
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;

public class JavaRing {
    static final String[] IDS = {"", "a", "315764588", "SF177814904", "订单726301748", "YTO-442691263", "\uD83D\uDE9A-truck",
                                 "912182689", "9223372036854775807", "-42", "the same order, again and again"};
    static final int[][] RINGS = {{9, 1}, {10, 100}, {32, 64}};

    static int hash(String text) {
        int hash = 0x811c9dc5;
        for (int index = 0; index < text.length(); index++)
            hash = (hash ^ text.charAt(index)) * 0x01000193;
        hash += hash << 13;
        hash ^= hash >> 7;
        hash += hash << 3;
        hash ^= hash >> 17;
        hash += hash << 5;
        return Math.abs(hash);
    }

    static String node(String id, int nodes, int replicas) {
        TreeMap<Integer, String> ring = new TreeMap<>();
        for (int node = 1; node <= nodes; node++) {
            String name = String.format("%04d", node);
            for (int replica = 0; replica < replicas; replica++)
                ring.put(hash(name + replica), name);
        }
        Map.Entry<Integer, String> found = ring.ceilingEntry(hash(id));
        return (found != null ? found : ring.firstEntry()).getValue();
    }

    public static void main(String[] arguments) {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        out.println("{\"about\":\"made by JavaRing.java\", \"cases\":[");
        for (int index = 0; index < IDS.length; index++) {
            for (int[] ring : RINGS) {
                boolean last = index + 1 == IDS.length && ring == RINGS[RINGS.length - 1];
                out.printf("  {\"id\":\"%s\", \"hash\":%d, \"nodes\":%d, \"replicas\":%d, \"node\":\"%s\"}%s%n", IDS[index],
                           hash(IDS[index]), ring[0], ring[1], node(IDS[index], ring[0], ring[1]), last ? "" : ",");
            }
        }
        out.println("]}");
    }
}
