import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

import com.sematext.hbase.wd.RowKeyDistributorByHashPrefix;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.*;
import org.apache.hadoop.hbase.io.ImmutableBytesWritable;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.Pair;
import org.apache.hbase.thirdparty.com.google.gson.JsonArray;
import org.apache.hbase.thirdparty.com.google.gson.JsonElement;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;
import org.apache.hbase.thirdparty.com.google.gson.JsonParser;
import org.apache.phoenix.expression.Expression;
import org.apache.phoenix.jdbc.PhoenixConnection;
import org.apache.phoenix.schema.ColumnRef;
import org.apache.phoenix.schema.PColumn;
import org.apache.phoenix.schema.PTable;
import org.apache.phoenix.schema.PTableKey;
import org.apache.phoenix.schema.SaltingUtil;
import org.apache.phoenix.schema.TableRef;
import org.apache.phoenix.schema.tuple.ResultTuple;
import org.apache.phoenix.schema.types.PBoolean;
import org.apache.phoenix.schema.types.PDate;
import org.apache.phoenix.schema.types.PTime;
import org.apache.phoenix.util.PhoenixRuntime;

/**
 * Writes rows into a real HBase as services without Keyway do, and reads them: with HBase's client and its Bytes, with
 * HBaseWD's distributor, and with Apache Phoenix. Phoenix works without its server part: its SQL engine makes the cells
 * of an UPSERT on a connection without a server, HBase's client writes them, and Phoenix's own expressions decode rows.
 *
 * Reads one line of JSON per command and prints one line per reply: {"do": "create", "table", "form", "ddl"},
 * {"do": "write", "table", "rows"}, {"do": "read", "table"}, {"do": "snapshot" or "restore", "table", "snapshot"},
 * {"do": "drop", "table"}. A row is a map from name to value, as the test has it. The
 * reply to `read` is {"rows", "other"}: the rows as their writer decodes them, and the rows whose cells are not byte for
 * byte what that writer would write for the same values.
 */
public class Writers {
    /** One way to write rows. */
    interface Form {
        byte[][] splits() throws Exception;
        String family();
        Put put(JsonObject row) throws Exception;
        JsonObject read(Result result) throws Exception;
    }

    static final byte[] CF = Bytes.toBytes("cf");

    static byte[] text(JsonObject row, String name) {
        return Bytes.toBytes(row.get(name).getAsString());
    }

    /** user|(Long.MAX_VALUE - ts), values by Bytes.toBytes. */
    static class ByBytes implements Form {
        public byte[][] splits() { return null; }
        public String family() { return "cf"; }

        public Put put(JsonObject row) {
            byte[] time = Bytes.toBytes(Long.MAX_VALUE - row.get("ts").getAsLong());
            Put put = new Put(Bytes.add(text(row, "usr"), Bytes.toBytes("|"), time));
            put.addColumn(CF, Bytes.toBytes("amount"), Bytes.toBytes(row.get("amount").getAsDouble()));
            put.addColumn(CF, Bytes.toBytes("pieces"), Bytes.toBytes(row.get("pieces").getAsInt()));
            put.addColumn(CF, Bytes.toBytes("total"), Bytes.toBytes(row.get("total").getAsLong()));
            put.addColumn(CF, Bytes.toBytes("ratio"), Bytes.toBytes(row.get("ratio").getAsFloat()));
            put.addColumn(CF, Bytes.toBytes("paid"), Bytes.toBytes(row.get("paid").getAsBoolean()));
            put.addColumn(CF, Bytes.toBytes("note"), text(row, "note"));
            return put;
        }

        public JsonObject read(Result result) {
            byte[] key = result.getRow();
            JsonObject row = new JsonObject();
            row.addProperty("usr", Bytes.toString(key, 0, key.length - 9));
            row.addProperty("ts", Long.MAX_VALUE - Bytes.toLong(key, key.length - 8));
            row.addProperty("amount", Bytes.toDouble(result.getValue(CF, Bytes.toBytes("amount"))));
            row.addProperty("pieces", Bytes.toInt(result.getValue(CF, Bytes.toBytes("pieces"))));
            row.addProperty("total", Bytes.toLong(result.getValue(CF, Bytes.toBytes("total"))));
            row.addProperty("ratio", Bytes.toFloat(result.getValue(CF, Bytes.toBytes("ratio"))));
            row.addProperty("paid", Bytes.toBoolean(result.getValue(CF, Bytes.toBytes("paid"))));
            row.addProperty("note", Bytes.toString(result.getValue(CF, Bytes.toBytes("note"))));
            return row;
        }
    }

    /** shop_milliseconds_id, everything as text. */
    static class ByText implements Form {
        public byte[][] splits() { return null; }
        public String family() { return "cf"; }

        public Put put(JsonObject row) {
            String key = row.get("shop").getAsString() + "_" + String.format("%013d", row.get("ts").getAsLong()) + "_"
                + row.get("id").getAsString();
            Put put = new Put(Bytes.toBytes(key));
            put.addColumn(CF, Bytes.toBytes("amount"), Bytes.toBytes(Double.toString(row.get("amount").getAsDouble())));
            put.addColumn(CF, Bytes.toBytes("pieces"), Bytes.toBytes(Integer.toString(row.get("pieces").getAsInt())));
            return put;
        }

        public JsonObject read(Result result) {
            String[] parts = Bytes.toString(result.getRow()).split("_");
            JsonObject row = new JsonObject();
            row.addProperty("shop", parts[0]);
            row.addProperty("ts", Long.parseLong(parts[1]));
            row.addProperty("id", parts[2]);
            row.addProperty("amount", Double.parseDouble(Bytes.toString(result.getValue(CF, Bytes.toBytes("amount")))));
            row.addProperty("pieces", Integer.parseInt(Bytes.toString(result.getValue(CF, Bytes.toBytes("pieces")))));
            return row;
        }
    }

    /** bucket of the time, digits of an MD5, fixed code, number, flag, -, id. */
    static class ByHashes implements Form {
        public byte[][] splits() { return null; }
        public String family() { return "cf"; }

        public Put put(JsonObject row) throws Exception {
            byte[] md5 = MessageDigest.getInstance("MD5").digest(text(row, "id"));
            int bucket = Math.floorMod((short) Long.hashCode(row.get("ts").getAsLong()), 10);
            byte[] key = Bytes.toBytes(bucket + Bytes.toHex(md5).substring(0, 4));
            key = Bytes.add(key, text(row, "code"), Bytes.toBytes(row.get("number").getAsInt()));
            key = Bytes.add(key, Bytes.toBytes(row.get("flag").getAsBoolean()), Bytes.toBytes(row.get("ts").getAsLong()));
            Put put = new Put(Bytes.add(key, Bytes.toBytes("-"), text(row, "id")));
            put.addColumn(CF, Bytes.toBytes("note"), text(row, "note"));
            return put;
        }

        public JsonObject read(Result result) {
            byte[] key = result.getRow();
            JsonObject row = new JsonObject();
            row.addProperty("code", Bytes.toString(key, 5, 3));
            row.addProperty("number", Bytes.toInt(key, 8));
            row.addProperty("flag", key[12] != 0);
            row.addProperty("ts", Bytes.toLong(key, 13));
            row.addProperty("id", Bytes.toString(key, 22, key.length - 22));
            row.addProperty("note", Bytes.toString(result.getValue(CF, Bytes.toBytes("note"))));
            return row;
        }
    }

    /** HBaseWD's bucket of the hash, then time and sensor. */
    static class ByHbaseWd implements Form {
        final RowKeyDistributorByHashPrefix distributor =
            new RowKeyDistributorByHashPrefix(new RowKeyDistributorByHashPrefix.OneByteSimpleHash(8));

        public byte[][] splits() { return new byte[][] {{2}, {4}, {6}}; }
        public String family() { return "cf"; }

        public Put put(JsonObject row) {
            byte[] original = Bytes.add(Bytes.toBytes(row.get("ts").getAsLong()), text(row, "sensor"));
            Put put = new Put(distributor.getDistributedKey(original));
            put.addColumn(CF, Bytes.toBytes("celsius"), Bytes.toBytes(row.get("celsius").getAsDouble()));
            return put;
        }

        public JsonObject read(Result result) {
            byte[] original = distributor.getOriginalKey(result.getRow());
            JsonObject row = new JsonObject();
            row.addProperty("ts", Bytes.toLong(original, 0));
            row.addProperty("sensor", Bytes.toString(original, 8, original.length - 8));
            row.addProperty("celsius", Bytes.toDouble(result.getValue(CF, Bytes.toBytes("celsius"))));
            return row;
        }
    }

    /** A table of Apache Phoenix, as its CREATE TABLE says. */
    static class ByPhoenix implements Form {
        final PhoenixConnection connection;
        final PTable table;

        ByPhoenix(String name, String ddl) throws Exception {
            connection = DriverManager.getConnection("jdbc:phoenix:none").unwrap(PhoenixConnection.class);
            connection.setAutoCommit(false);
            connection.createStatement().execute("CREATE TABLE \"" + name + "\" " + ddl);
            table = connection.getTable(new PTableKey(null, name));
        }

        public byte[][] splits() throws Exception {
            return table.getBucketNum() == null ? null : SaltingUtil.getSalteByteSplitPoints(table.getBucketNum());
        }

        public String family() { return "0"; }

        List<PColumn> columns() {
            List<PColumn> columns = new ArrayList<>();
            for (PColumn column : table.getColumns())
                if (!column.equals(SaltingUtil.SALTING_COLUMN) && !column.getName().getString().equals("_SALT"))
                    columns.add(column);
            return columns;
        }

        static Object value(PColumn column, JsonElement json) {
            if (column.getDataType() == PBoolean.INSTANCE)
                return json.getAsBoolean();
            if (column.getDataType() == PDate.INSTANCE)
                return new java.sql.Date(json.getAsLong());
            if (column.getDataType() == PTime.INSTANCE)
                return new java.sql.Time(json.getAsLong());
            if (json.getAsJsonPrimitive().isString())
                return json.getAsString();
            return column.getDataType().toObject(json.getAsString());
        }

        public Put put(JsonObject row) throws Exception {
            StringBuilder names = new StringBuilder(), marks = new StringBuilder();
            List<Object> values = new ArrayList<>();
            for (PColumn column : columns()) {
                JsonElement json = row.get(column.getName().getString().toLowerCase());
                if (json == null)
                    continue;
                names.append(names.length() > 0 ? ", " : "").append(column.getName().getString());
                marks.append(marks.length() > 0 ? ", ?" : "?");
                values.add(value(column, json));
            }
            String sql = "UPSERT INTO \"" + table.getName().getString() + "\" (" + names + ") VALUES (" + marks + ")";
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                for (int i = 0; i < values.size(); i++)
                    statement.setObject(i + 1, values.get(i));
                statement.executeUpdate();
            }
            Put put = null;
            Iterator<Pair<byte[], List<Cell>>> made = PhoenixRuntime.getUncommittedDataIterator(connection);
            for (Cell cell : made.next().getSecond()) {
                put = put == null ? new Put(CellUtil.cloneRow(cell)) : put;
                put.addColumn(CellUtil.cloneFamily(cell), CellUtil.cloneQualifier(cell), CellUtil.cloneValue(cell));
            }
            connection.rollback();
            return put;
        }

        public JsonObject read(Result result) throws Exception {
            ResultTuple tuple = new ResultTuple(result);
            TableRef reference = new TableRef(table);
            JsonObject row = new JsonObject();
            for (PColumn column : columns()) {
                Expression expression = new ColumnRef(reference, column.getPosition()).newColumnExpression();
                ImmutableBytesWritable pointer = new ImmutableBytesWritable();
                if (!expression.evaluate(tuple, pointer) || pointer.getLength() == 0)
                    continue;
                Object value = expression.getDataType().toObject(pointer, expression.getSortOrder(),
                    expression.getMaxLength(), expression.getScale());
                String name = column.getName().getString().toLowerCase();
                if (value instanceof Number)
                    row.addProperty(name, (Number) value);
                else if (value instanceof Boolean)
                    row.addProperty(name, (Boolean) value);
                else if (value instanceof java.util.Date)
                    row.addProperty(name, ((java.util.Date) value).getTime());
                else
                    row.addProperty(name, value.toString());
            }
            return row;
        }
    }

    final Connection hbase;
    final Map<String, Form> forms = new TreeMap<>();

    Writers(String zookeeperPort) throws Exception {
        Configuration settings = HBaseConfiguration.create();
        settings.set(HConstants.ZOOKEEPER_QUORUM, "127.0.0.1");
        settings.set(HConstants.ZOOKEEPER_CLIENT_PORT, zookeeperPort);
        hbase = ConnectionFactory.createConnection(settings);
    }

    void create(String name, String form, JsonElement ddl) throws Exception {
        Form made = form.equals("bytes") ? new ByBytes() : form.equals("text") ? new ByText()
            : form.equals("hashes") ? new ByHashes() : form.equals("hbasewd") ? new ByHbaseWd() : new ByPhoenix(name, ddl.getAsString());
        TableDescriptor table = TableDescriptorBuilder.newBuilder(TableName.valueOf(name))
            .setColumnFamily(ColumnFamilyDescriptorBuilder.of(made.family())).build();
        try (Admin admin = hbase.getAdmin()) {
            admin.createTable(table, made.splits());
        }
        forms.put(name, made);
    }

    /** The commands of the HBase shell that docs/backup.md names. */
    void snapshot(String name, String snapshot) throws Exception {
        try (Admin admin = hbase.getAdmin()) {
            admin.snapshot(snapshot, TableName.valueOf(name));
        }
    }

    void restore(String name, String snapshot) throws Exception {
        try (Admin admin = hbase.getAdmin()) {
            admin.disableTable(TableName.valueOf(name));
            admin.restoreSnapshot(snapshot);
            admin.enableTable(TableName.valueOf(name));
        }
    }

    void drop(String name) throws Exception {
        try (Admin admin = hbase.getAdmin()) {
            admin.disableTable(TableName.valueOf(name));
            admin.deleteTable(TableName.valueOf(name));
        }
    }

    void write(String name, JsonArray rows) throws Exception {
        List<Put> puts = new ArrayList<>();
        for (JsonElement row : rows)
            puts.add(forms.get(name).put(row.getAsJsonObject()));
        try (Table table = hbase.getTable(TableName.valueOf(name))) {
            table.put(puts);
        }
    }

    /** Row, columns and values, without timestamps. */
    static TreeSet<String> bytesOf(Iterable<Cell> cells) {
        TreeSet<String> shown = new TreeSet<>();
        for (Cell cell : cells)
            shown.add(Bytes.toStringBinary(CellUtil.cloneRow(cell)) + " " + Bytes.toStringBinary(CellUtil.cloneFamily(cell)) + ":"
                + Bytes.toStringBinary(CellUtil.cloneQualifier(cell)) + "=" + Bytes.toStringBinary(CellUtil.cloneValue(cell)));
        return shown;
    }

    JsonObject read(String name) throws Exception {
        JsonArray rows = new JsonArray(), other = new JsonArray();
        Form form = forms.get(name);
        try (Table table = hbase.getTable(TableName.valueOf(name)); ResultScanner results = table.getScanner(new Scan())) {
            for (Result result : results) {
                JsonObject row = form.read(result);
                rows.add(row);
                List<Cell> wanted = new ArrayList<>();
                form.put(row).getFamilyCellMap().values().forEach(wanted::addAll);
                if (!bytesOf(wanted).equals(bytesOf(Arrays.asList(result.rawCells()))))
                    other.add(bytesOf(Arrays.asList(result.rawCells())) + ", not " + bytesOf(wanted));
            }
        }
        JsonObject answer = new JsonObject();
        answer.add("rows", rows);
        answer.add("other", other);
        return answer;
    }

    JsonObject obey(JsonObject order) throws Exception {
        String name = order.get("table").getAsString();
        switch (order.get("do").getAsString()) {
        case "create":
            create(name, order.get("form").getAsString(), order.get("ddl"));
            return new JsonObject();
        case "write":
            write(name, order.getAsJsonArray("rows"));
            return new JsonObject();
        case "snapshot":
            snapshot(name, order.get("snapshot").getAsString());
            return new JsonObject();
        case "restore":
            restore(name, order.get("snapshot").getAsString());
            return new JsonObject();
        case "drop":
            drop(name);
            return new JsonObject();
        default:
            return read(name);
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err); /* output of libraries */
        Writers writers = new Writers(arguments[0]);
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            JsonObject answer = writers.obey(JsonParser.parseString(line).getAsJsonObject());
            answers.write((answer + "\n").getBytes(StandardCharsets.UTF_8));
            answers.flush();
        }
        System.exit(0);
    }
}
