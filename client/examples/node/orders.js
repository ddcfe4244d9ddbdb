// Order events through Keyway, in Node. Arguments: HOST:PORT [framed] [compact]
'use strict';

const thrift = require('thrift');
const Data = require('./gen/Data');
const { Code, KeywayError, Options, Order, Query, Value } = require('./gen/keyway_types');

const TEN_O_CLOCK = 1795255200000; // 2026-11-21T10:00:00Z
const STATUSES = ['created', 'paid', 'shipped', 'delivered'];

function connect(address, framed, compact) {
  const colon = address.lastIndexOf(':');
  const connection = thrift.createConnection(address.slice(0, colon), Number(address.slice(colon + 1)), {
    transport: framed ? thrift.TFramedTransport : thrift.TBufferedTransport,
    protocol: compact ? thrift.TCompactProtocol : thrift.TBinaryProtocol,
    connect_timeout: 30000,
  });
  connection.on('error', (error) => {
    console.error(error.message);
    process.exit(1);
  });
  return { connection, client: thrift.createClient(Data, connection) };
}

async function putEvents(client) {
  const records = ['A-1001', 'A-1002', 'A-1003'].flatMap((orderId) =>
    STATUSES.map((status, step) => ({
      order_id: new Value({ text: orderId }),
      ts: new Value({ number: TEN_O_CLOCK + step * 60000 }),
      status: new Value({ text: status }),
      amount: new Value({ real: 9.75 }),
    }))
  );
  for (const written of await client.putMany('order_events', records, new Options())) {
    if (written.failure) throw new Error(written.failure.message);
  }
  console.log(`put ${records.length} events`);
}

const eventsOf = (orderId, more) =>
  new Query({ table: 'order_events', bound: { order_id: new Value({ text: orderId }) }, ...more });

async function showLatest(client, orderId) {
  const page = await client.latest(eventsOf(orderId, { limit: 1 }));
  console.log(`latest ${orderId}: ${page.rows[0].status.text}, ${page.rows_scanned} scanned`);
}

// Newest first, three rows per page. The gateway keeps no state between two pages.
async function showAll(client, orderId) {
  const statuses = [];
  let page = await client.scan(eventsOf(orderId, { order: Order.DESCENDING, page_rows: 3 }));
  for (;;) {
    statuses.push(...page.rows.map((row) => row.status.text));
    if (!page.cursor) break;
    page = await client.nextPage(page.cursor, new Options());
  }
  console.log(`events ${orderId}: ${statuses.join(' ')}`);
}

async function showError(client) {
  try {
    await client.describe('no_such_table');
  } catch (error) {
    if (!(error instanceof KeywayError)) throw error;
    console.log(`error ${Object.keys(Code).find((name) => Code[name] === error.code)}`);
  }
}

async function main() {
  const words = process.argv.slice(2);
  const { connection, client } = connect(words[0], words.includes('framed'), words.includes('compact'));
  await putEvents(client);
  await showLatest(client, 'A-1002');
  await showAll(client, 'A-1002');
  await showError(client);
  connection.end();
}

main().catch((error) => {
  console.error(error.message || error);
  process.exit(1);
});
