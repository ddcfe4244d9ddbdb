import io.keyway.thrift.Data;
import io.keyway.thrift.KeywayError;
import io.keyway.thrift.Options;
import io.keyway.thrift.Order;
import io.keyway.thrift.Page;
import io.keyway.thrift.Query;
import io.keyway.thrift.Value;
import io.keyway.thrift.Written;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.layered.TFramedTransport;

/** Order events through Keyway, in Java. Arguments: HOST:PORT [framed] [compact] */
public final class Orders {
    private static final long TEN_O_CLOCK = 1795255200000L; // 2026-11-21T10:00:00Z
    private static final String[] STATUSES = {"created", "paid", "shipped", "delivered"};

    private static Data.Client connect(String address, boolean framed, boolean compact) throws TException {
        int colon = address.lastIndexOf(':');
        TTransport socket = new TSocket(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)), 40_000); // longer than the gateway's default deadline of 30 s
        TTransport transport = framed ? new TFramedTransport(socket) : socket;
        transport.open();
        return new Data.Client(compact ? new TCompactProtocol(transport) : new TBinaryProtocol(transport));
    }

    private static void putEvents(Data.Client client) throws TException {
        List<Map<String, Value>> records = new ArrayList<>();
        for (String orderId : List.of("A-1001", "A-1002", "A-1003")) {
            for (int step = 0; step < STATUSES.length; step++) {
                Map<String, Value> record = new HashMap<>();
                record.put("order_id", Value.text(orderId));
                record.put("ts", Value.number(TEN_O_CLOCK + step * 60_000L));
                record.put("status", Value.text(STATUSES[step]));
                record.put("amount", Value.real(9.75));
                records.add(record);
            }
        }
        for (Written written : client.putMany("order_events", records, new Options())) {
            if (written.isSetFailure()) {
                throw new IllegalStateException(written.getFailure().getMessage());
            }
        }
        System.out.printf("put %d events%n", records.size());
    }

    private static Query eventsOf(String orderId) {
        return new Query("order_events").setBound(Map.of("order_id", Value.text(orderId)));
    }

    private static void showLatest(Data.Client client, String orderId) throws TException {
        Page page = client.latest(eventsOf(orderId).setLimit(1));
        System.out.printf("latest %s: %s, %d scanned%n", orderId, page.getRows().get(0).get("status").getText(),
            page.getRows_scanned());
    }

    /** Newest first, three rows a page. The gateway keeps nothing between two pages. */
    private static void showAll(Data.Client client, String orderId) throws TException {
        List<String> statuses = new ArrayList<>();
        Page page = client.scan(eventsOf(orderId).setOrder(Order.DESCENDING).setPage_rows(3));
        while (true) {
            page.getRows().forEach(row -> statuses.add(row.get("status").getText()));
            if (!page.isSetCursor()) {
                break;
            }
            page = client.nextPage(page.bufferForCursor(), new Options());
        }
        System.out.printf("events %s: %s%n", orderId, String.join(" ", statuses));
    }

    private static void showError(Data.Client client) throws TException {
        try {
            client.describe("no_such_table");
        } catch (KeywayError error) {
            System.out.printf("error %s%n", error.getCode());
        }
    }

    public static void main(String[] args) throws TException {
        List<String> words = List.of(args);
        Data.Client client = connect(args[0], words.contains("framed"), words.contains("compact"));
        putEvents(client);
        showLatest(client, "A-1002");
        showAll(client, "A-1002");
        showError(client);
    }

    private Orders() {}
}
