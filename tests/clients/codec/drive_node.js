// Random values through the codec and back, with the Node runtime: drive_node.js PIPE SEED ROUNDS.
// Needs NODE_PATH with thrift, and the generated code in the folder that KW_GEN names.
'use strict';
const assert = require('assert');
const path = require('path');
const { spawn } = require('child_process');
const thrift = require('thrift');
const Int64 = require('node-int64');
const api = require(path.join(process.env.KW_GEN, 'keyway_types.js'));
const hb = require(path.join(process.env.KW_GEN, 'hbase2_types.js'));

const protocols = [thrift.TBinaryProtocol, thrift.TCompactProtocol];
const [program, seed, rounds] = [process.argv[2], BigInt(process.argv[3]), Number(process.argv[4])];

// splitmix64, so that a seed gives the same values everywhere.
let state = seed;
function next() {
  state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
  let value = state;
  value = BigInt.asUintN(64, (value ^ (value >> 30n)) * 0xbf58476d1ce4e5b9n);
  value = BigInt.asUintN(64, (value ^ (value >> 27n)) * 0x94d049bb133111ebn);
  return value ^ (value >> 31n);
}
const below = (bound) => Number(next() % BigInt(bound));
const chance = (share) => below(1000) < share * 1000;
const pick = (list) => list[below(list.length)];

const special = [0n, 1n, -1n, 63n, 64n, -64n, -65n, 2n ** 31n - 1n, -(2n ** 31n), 2n ** 63n - 1n, -(2n ** 63n)];
const bigNumber = (bits) => BigInt.asIntN(bits, chance(0.3) ? pick(special) : next());
function int64() {
  const buffer = Buffer.alloc(8);
  buffer.writeBigInt64BE(bigNumber(64));
  return new Int64(buffer);
}
const number = (bits) => Number(bigNumber(bits));
const blob = () => Buffer.from(Array.from({ length: pick([0, 1, 5, 16, 17, 100, 300]) }, () => below(256)));
const text = () => Array.from({ length: below(20) }, () => pick([...'abcxyz09 äß水😀'])).join('');
const maybe = (make) => (chance(0.6) ? make() : undefined);
const many = (make) => Array.from({ length: pick([0, 1, 2, 3, 15, 16]) }, make);
function mapOf(key, make, count) {
  const made = {};
  for (let i = 0; i < count; i++) made[key()] = make();
  return made;
}

function value() {
  switch (below(5)) {
    case 0: return new api.Value({ flag: chance(0.5) });
    case 1: return new api.Value({ number: int64() });
    case 2: return new api.Value({ real: below(1e9) / 7 - 5e7 });
    case 3: return new api.Value({ text: text() });
    default: return new api.Value({ bytes: blob() });
  }
}
const record = () => mapOf(text, value, below(5));
const range = () => new api.Range({ field: text(), from_value: maybe(value), to_value: maybe(value),
  from_inclusive: chance(0.5), to_inclusive: chance(0.5) });
const query = () => new api.Query({ table: text(), bound: maybe(record),
  bound_any: maybe(() => mapOf(text, () => many(value), 3)), range: maybe(range), order: maybe(() => 1 + below(2)),
  path: maybe(text), columns: maybe(() => many(text)), limit: maybe(int64), page_rows: maybe(() => number(32)),
  full_scan: maybe(() => chance(0.5)), skip_undecodable: maybe(() => chance(0.5)) });
const page = () => new api.Page({ rows: many(record), cursor: maybe(blob), rows_scanned: int64(),
  rows_returned: int64(), undecodable: maybe(int64) });
const cell = () => new hb.TColumnValue({ family: blob(), qualifier: blob(), value: blob(), timestamp: maybe(int64),
  tags: maybe(blob), type: maybe(() => number(8)) });
// Node's objects have text as keys, so the keys of a map<binary, binary> are plain text here.
const key = () => pick(['a', 'bb', 'ccc', '']);
const put = () => new hb.TPut({ row: blob(), columnValues: many(cell), timestamp: maybe(int64),
  attributes: maybe(() => mapOf(key, blob, 3)), durability: maybe(() => below(5)),
  cellVisibility: maybe(() => new hb.TCellVisibility({ expression: maybe(text) })) });
const result = () => new hb.TResult({ row: maybe(blob), columnValues: many(cell), stale: chance(0.5),
  partial: chance(0.5) });

const tables = [[api.Query, query], [api.Page, page], [hb.TPut, put], [hb.TResult, result]];

function encode(made, protocol) {
  let out;
  const transport = new thrift.TBufferedTransport(null, (bytes) => { out = bytes; });
  const writer = new protocols[protocol](transport);
  made.write(writer);
  writer.flush();
  return out;
}

function decode(Kind, bytes, protocol) {
  let made;
  const receive = thrift.TFramedTransport.receiver((transport) => {
    made = new Kind();
    made.read(new protocols[protocol](transport));
  });
  const frame = Buffer.alloc(4 + bytes.length);
  frame.writeUInt32BE(bytes.length);
  bytes.copy(frame, 4);
  receive(frame);
  return made;
}

// A form in which equal values are identical: 64-bit numbers as their octets, without absent members.
function plain(made) {
  if (made instanceof Int64) return 'i64:' + made.toOctetString();
  if (Buffer.isBuffer(made)) return 'bytes:' + made.toString('hex');
  if (Array.isArray(made)) return made.map(plain);
  if (made && typeof made === 'object') {
    const entries = Object.entries(made).filter(([, member]) => member !== null && member !== undefined);
    return Object.fromEntries(entries.map(([name, member]) => [name, plain(member)]));
  }
  return made;
}

const pipe = spawn(program, [], { stdio: ['pipe', 'pipe', 'inherit'] });
pipe.on('error', (error) => { throw error; });
async function* answers() {
  let waiting = Buffer.alloc(0);
  for await (const chunk of pipe.stdout) {
    waiting = Buffer.concat([waiting, chunk]);
    while (waiting.length >= 5 && waiting.length >= 5 + waiting.readUInt32BE(1)) {
      const size = waiting.readUInt32BE(1);
      yield [waiting[0], waiting.subarray(5, 5 + size)];
      waiting = waiting.subarray(5 + size);
    }
  }
}

async function main() {
  const answer = answers();
  let trips = 0;
  for (let round = 0; round < rounds; round++) {
    for (const [table, [Kind, make]] of tables.entries()) {
      const made = make();
      for (const trip of [[0, 0], [0, 1], [1, 0], [1, 1]]) {
        const bytes = encode(made, trip[0]);
        const head = Buffer.from([table, trip[0], trip[1], 0, 0, 0, 0]);
        head.writeUInt32BE(bytes.length, 3);
        pipe.stdin.write(Buffer.concat([head, bytes]));
        const { value: said, done } = await answer.next();
        assert(!done, 'the codec ended');
        assert.strictEqual(said[0], 0, `the codec refused: ${said[1]}`);
        assert.deepStrictEqual(plain(decode(Kind, said[1], trip[1])), plain(made));
        trips++;
      }
    }
  }
  pipe.stdin.end();
  console.log(`${trips} round trips`);
}

main().catch((error) => { console.error(error); process.exit(1); });
