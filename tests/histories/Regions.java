/* Moves, splits and merges regions of a real HBase. Reads one command per line and prints "ok" or a reason for each:
 *   move            moves a region of any table to any region server
 *   split           splits a region of any table
 *   merge           merges two adjacent regions of any table, if it has two regions
 *   flush           flushes any table
 *   place TABLE N   moves all regions of TABLE to the region server that started as number N (0, 1, ...)
 *   whole           "ok" if every region of every table is served
 * "any" is a random choice.
 * Run as: java -cp CLASSPATH Regions.java SEED
 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.util.Bytes;

public class Regions {
    private static final long PATIENCE_SECONDS = 60;
    private final Admin admin;
    private final Random random;

    Regions(Admin admin, long seed) {
        this.admin = admin;
        this.random = new Random(seed);
    }

    private List<ServerName> servers() throws Exception {
        List<ServerName> found = new ArrayList<>(admin.getRegionServers());
        found.sort(Comparator.comparingLong(ServerName::getStartcode));
        return found;
    }

    private void move(TableName table) throws Exception {
        List<RegionInfo> regions = admin.getRegions(table);
        List<ServerName> servers = servers();
        RegionInfo region = regions.get(random.nextInt(regions.size()));
        admin.move(region.getEncodedNameAsBytes(), servers.get(random.nextInt(servers.size())));
    }

    private void place(TableName table, int number) throws Exception {
        ServerName server = servers().get(number);
        for (RegionInfo region : admin.getRegions(table))
            admin.move(region.getEncodedNameAsBytes(), server);
    }

    private void split(TableName table) throws Exception {
        List<RegionInfo> regions = admin.getRegions(table);
        RegionInfo region = regions.get(random.nextInt(regions.size()));
        byte[] from = region.getStartKey().length > 0 ? region.getStartKey() : Bytes.toBytes("0");
        byte[] to = region.getEndKey().length > 0 ? region.getEndKey() : Bytes.toBytes("z");
        byte[][] cut = Bytes.split(from, to, 1 + random.nextInt(3));
        admin.splitRegionAsync(region.getRegionName(), cut[1]).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private void merge(TableName table) throws Exception {
        List<RegionInfo> regions = new ArrayList<>(admin.getRegions(table));
        Collections.sort(regions, RegionInfo.COMPARATOR);
        if (regions.size() < 2)
            return;
        int first = random.nextInt(regions.size() - 1);
        byte[][] both = {regions.get(first).getEncodedNameAsBytes(), regions.get(first + 1).getEncodedNameAsBytes()};
        admin.mergeRegionsAsync(both, false).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private TableName any() throws Exception {
        TableName[] tables = admin.listTableNames();
        return tables[random.nextInt(tables.length)];
    }

    private void whole() throws Exception {
        for (TableName table : admin.listTableNames())
            if (!admin.isTableAvailable(table))
                throw new IllegalStateException(table + " is not served");
        if (admin.getClusterMetrics().getRegionStatesInTransition().size() > 0)
            throw new IllegalStateException("regions are in transition");
    }

    private void run(String[] words) throws Exception {
        switch (words[0]) {
        case "move": move(any()); break;
        case "split": split(any()); break;
        case "merge": merge(any()); break;
        case "flush": admin.flush(any()); break;
        case "place": place(TableName.valueOf(words[1]), Integer.parseInt(words[2])); break;
        case "whole": whole(); break;
        default: throw new IllegalArgumentException("unknown command " + words[0]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
             Admin admin = connection.getAdmin();
             BufferedReader input = new BufferedReader(new InputStreamReader(System.in))) {
            Regions regions = new Regions(admin, Long.parseLong(arguments[0]));
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                try {
                    regions.run(line.trim().split(" "));
                    System.out.println("ok");
                } catch (Exception refused) {
                    System.out.println(String.valueOf(refused).replace('\n', ' '));
                }
            }
        }
    }
}
