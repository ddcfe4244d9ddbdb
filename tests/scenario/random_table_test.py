"""Tests one table against the model: writes, point reads and queries. random_queries.py runs the rounds."""
import collections

from keyway_gateway import plain, value
from keyway_thrift import ttypes
from keyway_thrift.ttypes import CompareOp, Condition, Code, KeywayError, Options, Outcome, Query, Range
from random_model import Model, ModelQuery, canonical, random_neighbor
from random_policy import rank

COMPARISONS = list(CompareOp._NAMES_TO_VALUES)
tally = collections.Counter()


class Mismatch(Exception):
    pass


def expect(good, *what):
    if not good:
        raise Mismatch(" ".join(str(one) for one in what))


def to_thrift(record):
    return {name: value(found) for name, found in record.items()}


def canon(record):
    return {name: canonical(found) for name, found in record.items()}


class error_context:
    """Adds the query and the table to an error inside the block."""

    def __init__(self, asked, table):
        self.asked, self.table = asked, table

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, (Mismatch, KeywayError)):
            raise Mismatch(f"{error}\nquery {self.asked}\n{self.table.yaml()}") from error
        return False


class TableTest:
    """Tests one table against the model."""

    def __init__(self, chance, table):
        self.chance = chance
        self.table = table
        self.model = Model(table)
        self.data = self.admin = None
        self.keys = {}  # identity to path to (row key, offset of each component)
        self.clock = 0

    def connect(self, gateway):
        self.data, self.admin = gateway.data(), gateway.admin(compact=True)

    def close(self):
        self.data.close()
        self.admin.close()

    # --- values ---

    def pick(self, field):
        return self.chance.choice(field.pool)

    def some_value(self, field):
        """A value for a query, mostly from the pool."""
        found = self.pick(field)
        if self.chance.random() < 0.2:
            near = random_neighbor(self.chance, found)
            return near if field.takes(near) else found
        return found

    def identity(self):
        if self.model.rows and self.chance.random() < 0.6:
            record = self.chance.choice(list(self.model.rows.values())).record()
            if all(name in record for name in self.table.identity):
                return {name: record[name] for name in self.table.identity}
        return {name: self.pick(self.table.fields[name]) for name in self.table.identity}

    def record(self):
        others = [field for field in self.table.fields.values() if not field.identity]
        return {**self.identity(), **{field.name: self.pick(field) for field in others if self.chance.random() < 0.6}}

    # --- writes ---

    def written(self, outcome, fits, what):
        expect(outcome == (Outcome.OK if fits else Outcome.FAILED), what, "outcome", outcome, "fits", fits)

    def call_one(self, call, *arguments):
        """Writes one record and returns the outcome; raises an exception if it is rejected."""
        try:
            return call(*arguments).outcome
        except KeywayError as error:
            expect(error.code == Code.INVALID and not error.maybe_applied, error)
            return Outcome.FAILED

    def put_many(self, count):
        records = [self.record() for _ in range(count)]
        answers = self.data.putMany(self.table.name, [to_thrift(one) for one in records], None)
        for record, answer in zip(records, answers):
            fits = self.table.fits(record)
            self.written(answer.outcome, fits, f"putMany {record} {answer.failure}")
            if fits:
                self.model.put(record)
            tally["records put" if fits else "records refused"] += 1

    def put(self):
        record = self.record()
        fits = self.table.fits(record)
        self.written(self.call_one(self.data.put, self.table.name, to_thrift(record), None), fits, f"put {record}")
        if fits:
            self.model.put(record)
        self.read_back(record)

    def removable(self):
        names = [field.name for field in self.table.fields.values() if not field.identity]
        return self.chance.sample(names, self.chance.randint(1, len(names))) if names and self.chance.random() < 0.4 else []

    def removed(self, outcome, key, what):
        """A record that only a secondary path cannot contain can be in the others: the path may have been added later."""
        fits = self.table.fits(key)
        if fits or not self.primary_fits(key):
            self.written(outcome, fits, what)

    def remove(self):
        key, columns = self.identity(), self.removable()
        fits = self.table.fits(key)
        outcome = self.call_one(self.data.remove, self.table.name, to_thrift(key), columns, None)
        self.removed(outcome, key, f"remove {key} {columns}")
        if fits:
            self.model.remove(key, columns)
        self.read_back(key)
        if self.chance.random() < 0.7:
            self.put_again(key)

    def put_again(self, key):
        """A put after an acknowledged remove is visible."""
        record = {**self.record(), **key}
        fits = self.table.fits(record)
        self.written(self.call_one(self.data.put, self.table.name, to_thrift(record), None), fits, f"put again {record}")
        if fits:
            self.model.put(record)
        self.read_back(record)
        tally["puts after removes"] += 1

    def remove_many(self):
        keys, columns = [self.identity() for _ in range(self.chance.randint(1, 6))], self.removable()
        answers = self.data.removeMany(self.table.name, [to_thrift(one) for one in keys], columns, None)
        for key, answer in zip(keys, answers):
            fits = self.table.fits(key)
            self.removed(answer.outcome, key, f"removeMany {key} {columns} {answer.failure}")
            if fits:
                self.model.remove(key, columns)
        self.read_many(keys)

    def increment(self):
        fields = [field.name for field in self.table.fields.values() if field.counter]
        key = self.identity()
        # A record that an increment creates has only the fields in the key and the sums.
        stored = any(self.table.fields[name].stored for name in self.table.identity)
        if not fields or not self.table.single or stored or not self.table.fits(key):
            return
        amounts = {name: self.chance.choice([1, -1, 10**6, 2**62]) for name in self.chance.sample(fields, 1)}
        refused = False
        try:
            found = plain(self.data.increment(self.table.name, to_thrift(key), amounts, None))
        except KeywayError as error:
            if "would not fit into 64 bits" not in error.message:
                raise
            refused = True
        row = self.model.touch(key)  # an increment that is refused had a row: no amount alone is too large
        sums = {name: row.cells.get(name, 0) + amount for name, amount in amounts.items()}
        expect(refused == any(abs(one) >= 2**63 and one != -2**63 for one in sums.values()), "increment", key, amounts, refused)
        if not refused:
            row.cells.update(sums)
            expect(all(found[name] == one for name, one in sums.items()), "increment", key, amounts, "returned", found, "not", sums)
        self.read_back(key)
        tally["increments"] += 1

    def put_if(self):
        names = [field.name for field in self.table.fields.values() if not field.identity and field.kind != "double"]
        record = self.record()
        if not names or not self.table.single or not self.table.fits(record):
            return
        if any(self.table.fields[name].counter for name in record):  # then the condition is also on a counter
            names = [name for name in names if self.table.fields[name].counter]
        name, op = self.chance.choice(names), self.chance.choice(COMPARISONS)
        wanted = self.pick(self.table.fields[name])
        if op in ("EQUAL", "NOT_EQUAL") and self.chance.random() < 0.4:
            wanted = None
        condition = Condition(name, CompareOp._NAMES_TO_VALUES[op], None if wanted is None else value(wanted))
        met = self.model.meets(record, name, op, wanted)
        applied = self.data.putIf(self.table.name, to_thrift(record), condition, None)
        expect(applied == met, "putIf", record, condition, "returned", applied, "where", self.model.find(record))
        if met:
            self.model.put(record)
        self.read_back(record)
        tally["conditions met" if met else "conditions not met"] += 1

    def write(self):
        what = self.chance.choice([self.put, self.put, self.remove, self.remove_many, self.increment, self.put_if,
                                   lambda: self.put_many(self.chance.randint(1, 12))])
        what()

    # --- point reads ---

    def read_back(self, record):
        key = {name: record[name] for name in self.table.identity}
        if self.table.fits(key):
            self.read_many([key])

    def read_many(self, keys):
        names = list(self.table.fields)
        columns = self.chance.sample(names, self.chance.randint(1, len(names))) if self.chance.random() < 0.5 else []
        single = len(keys) == 1 and self.chance.random() < 0.7
        try:
            if single:
                answers = [self.data.get(self.table.name, to_thrift(keys[0]), columns, None)]
            else:
                answers = self.data.getMany(self.table.name, [to_thrift(one) for one in keys], columns, None)
        except KeywayError as error:
            expect(single and not self.table.fits(keys[0]) and error.code == Code.INVALID, "get", keys, error)
            return
        expect(len(answers) == len(keys), "getMany answers", len(answers), "for", len(keys))
        query = ModelQuery(self.table)
        query.columns = columns
        for key, answer in zip(keys, answers):
            if not self.primary_fits(key):
                expect(answer.failure and answer.failure.code == Code.INVALID, "get", key, "returned", answer)
                continue
            if answer.failure and not self.table.fits(key):
                # Another path cannot contain it. A lookup of the buckets of all paths reports that.
                expect(answer.failure.code == Code.INVALID, "get", key, "returned", answer)
                continue
            wanted = self.model.find(key)
            found = plain(answer.record) if answer.record is not None else None
            expect(not answer.failure, "get", key, answer.failure)
            expect((wanted is None) == (found is None) and
                   (wanted is None or canon(found) == canon(query.shown(wanted))),
                   "get", key, "columns", columns, "returned", found, "not", wanted)
        tally["point reads"] += len(keys)

    def primary_fits(self, key):
        """True if a get can ask for it: under the primary path, and under the association if it determines the bucket."""
        primary = self.table.paths["primary"]
        asked = [primary, self.table.association] if primary.is_chosen() else [primary]
        return all(path.fits(key) and not (path.can_be_empty() and not any(rank(one) for one in key.values()))
                   for path in asked)

    # --- queries ---

    def random_query(self):
        chance, fields = self.chance, self.table.fields
        asked = ModelQuery(self.table)
        path = chance.choice(list(self.table.paths.values()))
        asked.path = path.name if chance.random() < 0.5 else None
        names = [piece.field for piece in path.pieces if piece.field]
        if chance.random() < 0.7:
            names = names[:chance.randint(0, len(names))]
        else:
            names = chance.sample(list(fields), min(len(fields), chance.randint(0, 2)))
        for name in names:
            if chance.random() < 0.7:
                asked.bound[name] = self.some_value(fields[name])
            else:
                asked.any[name] = [self.some_value(fields[name]) for _ in range(chance.randint(1, 5))]
        if chance.random() < 0.6:
            rest = [piece.field for piece in path.pieces if piece.field and piece.field not in names]
            name = rest[0] if rest and chance.random() < 0.75 else chance.choice(list(fields))
            ends = sorted((self.some_value(fields[name]) for _ in range(2)), key=rank)
            if chance.random() < 0.05:
                ends.reverse()
            ends = [one if chance.random() < 0.85 else None for one in ends]
            asked.range = (name, *ends, chance.random() < 0.5, chance.random() < 0.5)
        asked.order = chance.choice([None, None, "ASC", "DESC"])
        asked.limit = chance.choice([None, None, None, 1, 2, 7, 1000])
        asked.page_rows = chance.choice([None, None, 1, 2, 3, 10, 50])
        asked.page_bytes = chance.choice([None, None, None, 1, 200])
        asked.full_scan = chance.random() < 0.75
        if chance.random() < 0.3:
            asked.columns = chance.sample(list(fields), chance.randint(1, len(fields)))
        return asked

    def query(self, asked):
        made = Query(self.table.name, page_rows=asked.page_rows, page_bytes=asked.page_bytes, path=asked.path, limit=asked.limit)
        made.bound = to_thrift(asked.bound) or None
        made.bound_any = {name: [value(one) for one in values] for name, values in asked.any.items()} or None
        if asked.range:
            name, low, high, low_in, high_in = asked.range
            made.range = Range(name, None if low is None else value(low), None if high is None else value(high), low_in, high_in)
        made.order = {None: None, "ASC": ttypes.Order.ASCENDING, "DESC": ttypes.Order.DESCENDING}[asked.order]
        made.columns = asked.columns
        made.full_scan = asked.full_scan or None
        return made

    def explain(self, asked):
        """The explanation, or None if the query is rejected for a valid reason."""
        query = self.query(asked)
        try:
            return self.admin.explain(query)
        except KeywayError as error:
            self.judge_refusal(asked, error)
            try:
                self.data.scan(query)
            except KeywayError as again:
                expect(again.code == error.code, "scan says", again, "explain says", error)
                return None
            raise Mismatch(f"explain rejects a query that scan answers: {asked}: {error.message}") from None

    def judge_refusal(self, asked, error):
        expect(error.code == Code.INVALID, asked, error)
        paths = [self.table.paths[asked.path]] if asked.path else self.table.paths.values()
        if "would read the whole table" in error.message:
            expect(not asked.full_scan, "rejected despite full_scan:", asked, error)
            expect(not set(self.table.identity) <= set(asked.bounds()), "rejected although all fields are bound:", asked, error)
            tally["refused: whole table"] += 1
        elif "cannot be answered in" in error.message:
            expect(asked.order and not any(asked.order_in(path) for path in paths), "order refused:", asked, error)
            tally["refused: no order"] += 1
        else:
            unfit = any(not piece.fits(one) for path in self.table.paths.values() for piece in path.pieces
                        if piece.kind == "field" for one in asked.bounds().get(piece.field, []))
            empty = any(path.can_be_empty() for path in self.table.paths.values())
            expect(unfit or empty, "rejected without reason:", asked, error)
            tally["refused: value fits no key"] += 1

    def key_of(self, record, path):
        """The row key and the offset of each component, as explainPut returns them."""
        names = self.table.names_of(record)
        if names not in self.keys:
            self.keys[names] = {}
            identity = {name: record[name] for name in self.table.identity}
            for key in self.admin.explainPut(self.table.name, to_thrift(identity)).keys:
                expect(key.row_key == b"".join(piece.bytes for piece in key.pieces), "pieces", key)
                starts = [sum(len(piece.bytes) for piece in key.pieces[:i]) for i in range(len(key.pieces))]
                self.keys[names][key.path] = (key.row_key, starts)
        return self.keys[names][path.name]

    def sort_bytes(self, asked, path, record):
        """The bytes that order the rows of the result."""
        row_key, starts = self.key_of(record, path)
        ordered = asked.order_in(path)
        return row_key[starts[ordered[1]]:] if ordered and ordered[0] == "field" else row_key

    @staticmethod
    def knows_order(asked, path):
        """False for whole keys with a bucket that the record does not determine."""
        return not path.is_chosen() or (asked.order_in(path) or ("key",))[0] == "field"

    def judge_rows(self, asked, path, found, wanted):
        """Checks rows, contents and order."""
        names = [self.table.names_of(row) for row in found]
        doubles = [one for one, times in collections.Counter(names).items() if times > 1]
        expect(not doubles, "rows returned twice:", doubles)
        strangers = set(names) - set(wanted)
        expect(not strangers, "rows that do not match the query:", strangers)
        if asked.limit is None or len(wanted) <= asked.limit:
            expect(len(names) == len(wanted), "missing:", set(wanted) - set(names))
        else:
            expect(len(names) == asked.limit, len(names), "rows for limit", asked.limit)
        for row, one in zip(found, names):
            shown = asked.shown(wanted[one].record())
            expect(canon(row) == canon(shown), "row", row, "is not", shown)
        if not self.knows_order(asked, path):
            return
        falling = asked.descends(path)
        sorts = sorted((self.sort_bytes(asked, path, row.record()) for row in wanted.values()), reverse=falling)
        got = [self.sort_bytes(asked, path, wanted[one].record()) for one in names]
        expect(got == sorts[:len(got)], "order by", asked.order_in(path), "falling" if falling else "rising", got,
               "not", sorts[:len(got)])
        self.judge_values_order(asked, path, found)

    def judge_values_order(self, asked, path, found):
        """Checks the order a second time, by the values only."""
        ordered = asked.order_in(path)
        if not ordered or ordered[0] != "field":
            return
        piece = path.pieces[ordered[1]]
        field = self.table.fields[piece.field]
        ranks = [rank(row[field.name]) // field.step if field.coarse else rank(row[field.name]) for row in found]
        falling = asked.order == "DESC" if asked.order else piece.direction < 0
        expect(ranks == sorted(ranks, reverse=falling), "values of", field.name, "in order:", ranks)

    def judge_cost(self, asked, path, explained, returned, scanned, pages):
        expect(scanned >= returned, scanned, "rows scanned for", returned)
        ranges = len(explained.ranges or [])
        in_keys = set(asked.bounds()) <= set(self.table.identity)
        if explained.expected_reads_per_row == 1 and in_keys and not path.has_raw_inside() and not asked.page_bytes:
            most = returned + self.model.removals
            if asked.limit is not None or pages > 1:
                most = 2 * returned + (4 * ranges + self.model.removals) * pages + 4
            expect(scanned <= most, scanned, "rows scanned for", returned, "over", ranges, "ranges in", pages, "pages")
            tally["cost judged"] += 1

    def pages(self, asked, between=None):
        """All pages. between: called before each page except the first."""
        page = self.data.scan(self.query(asked))
        count = 0
        while True:
            count += 1
            expect(page.rows_returned == len(page.rows), "rows_returned", page.rows_returned, len(page.rows))
            expect(len(page.rows) <= (asked.page_rows or 10000), "rows in a page:", len(page.rows))
            expect(count < 5000, "pages without end")
            yield page
            if page.cursor is None:
                return
            if between:
                between()
            page = self.data.nextPage(page.cursor, Options())

    def ask(self):
        asked = self.random_query()
        with error_context(asked, self.table):
            explained = self.explain(asked)
            if explained is None:
                return
            wanted = asked.expected(self.model)
            path = self.table.paths[explained.path]
            expect(asked.path in (None, path.name), "path", path.name)
            expect(explained.ranges or not wanted, "no ranges for", len(wanted), "rows")
            found, scanned, pages = [], 0, 0
            for page in self.pages(asked):
                found += [plain(row) for row in page.rows]
                scanned += page.rows_scanned
                pages += 1
            expect(not asked.order or asked.order_in(path) or not explained.ranges, "ordered query answered by a path without order:", path.name)
            self.judge_rows(asked, path, found, wanted)
            self.judge_cost(asked, path, explained, len(found), scanned, pages)
            if self.chance.random() < 0.15:
                self.ask_latest(asked)
        tally["queries"] += 1
        tally["rows answered"] += len(found)
        tally["queries with rows"] += bool(found)
        tally["pages"] += pages

    def ask_latest(self, asked):
        asked.limit, asked.page_rows, asked.page_bytes = None, None, None
        asked.order = asked.order or "DESC"
        try:
            page = self.data.latest(self.query(asked))
        except KeywayError as error:
            self.judge_refusal(asked, error)
            return
        asked.limit = 1
        explained = self.explain(asked)
        expect(page.cursor is None, "latest returns a cursor")
        self.judge_rows(asked, self.table.paths[explained.path], [plain(row) for row in page.rows], asked.expected(self.model))
        tally["latest"] += 1

    def ask_while_writing(self):
        """Writes between pages: a row that exists during the whole scan is returned once, in its place."""
        asked = self.random_query()
        asked.limit, asked.columns = None, None
        asked.page_rows = self.chance.randint(1, 4)
        with error_context(asked, self.table):
            explained = self.explain(asked)
            if explained is None:
                return
            path = self.table.paths[explained.path]
            before, since = asked.expected(self.model), self.model.clock
            found = []
            for page in self.pages(asked, lambda: self.write() if self.chance.random() < 0.5 else None):
                found += [plain(row) for row in page.rows]
            after = asked.expected(self.model)
            names = [self.table.names_of(row) for row in found]
            expect(len(set(names)) == len(names), "rows returned twice while writing:", names)
            stable = {one for one, row in after.items() if one in before and row.touched <= since}
            expect(stable <= set(names), "missed while writing:", stable - set(names))
            sorts = [self.sort_bytes(asked, path, row) for row in found] if self.knows_order(asked, path) else []
            expect(sorts == sorted(sorts, reverse=asked.descends(path)), "order while writing", sorts)
        tally["scans while writing"] += 1

    def begin_walk(self):
        """A scan to continue after a restart; None if it ends with the first page."""
        asked = self.random_query()
        asked.page_rows = self.chance.randint(1, 5)
        asked.full_scan = True
        if self.explain(asked) is None:
            return None
        with error_context(asked, self.table):
            explained = self.explain(asked)
            pages = self.pages(asked)
            page = next(pages)
        return (asked, explained, page) if page.cursor else None

    def end_walk(self, asked, explained, page):
        with error_context(asked, self.table):
            found = [plain(row) for row in page.rows]
            while page.cursor is not None:
                page = self.data.nextPage(page.cursor, None)
                found += [plain(row) for row in page.rows]
            self.judge_rows(asked, self.table.paths[explained.path], found, asked.expected(self.model))
        tally["scans over a restart"] += 1
