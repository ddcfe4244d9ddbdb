"""Makes the files of this folder, each by running the program that it is named after. Programs that are missing are skipped.

    make.py FOLDER [NAME...]        # README.md lists the files; the program python3 needs pandas for pandas-*
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(sys.argv[1]).resolve()
RECORDS = [
    {"order_id": "A-001", "ts": "2026-11-21T10:00:00.250Z", "status": "paid", "city": "Köln, Altstadt", "amount": 19.9, "visits": 3, "paid": True},
    {"order_id": "007", "ts": "2026-11-21T10:00:01.000Z", "status": 'say "hi"', "city": None, "amount": 1e-07, "visits": 12345678901, "paid": False},
    {"order_id": "C;3", "ts": "2026-11-21T23:59:59.999Z", "status": "two\nlines", "city": "東京", "amount": 0.1 + 0.2, "visits": None, "paid": None},
]
JSON = json.dumps(RECORDS)
NAMES = list(RECORDS[0])
MADE = {}


def made_by(function):
    MADE[function.__name__] = function
    return function


def run(words, stdin=None, folder=None):
    done = subprocess.run(words, input=stdin, capture_output=True, cwd=folder, check=True)
    return done.stdout


def write(name, content):
    (FOLDER / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    print("made", name)


def literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(int(value))
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def rows_of_sql(stamp=lambda text: text):
    return ",".join("(" + ",".join(literal(stamp(v) if k == "ts" else v) for k, v in record.items()) + ")" for record in RECORDS)


@made_by
def python():
    with open(FOLDER / "python-csv.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, NAMES)
        writer.writeheader()
        writer.writerows(RECORDS)
    with open(FOLDER / "python-csv-excel-tab.tsv", "w", newline="", encoding="utf-16") as file:
        writer = csv.DictWriter(file, NAMES, dialect="excel-tab")
        writer.writeheader()
        writer.writerows(RECORDS)
    write("python-json.json", json.dumps(RECORDS, indent=2))
    write("python-json-lines.jsonl", "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in RECORDS))


@made_by
def jq():
    write("jq-compact.jsonl", run(["jq", "-c", ".[]"], JSON.encode()))
    write("jq-pretty.json", run(["jq", "-S", "."], JSON.encode()))
    write("jq-ascii.json", run(["jq", "-a", "-c", "."], JSON.encode()))
    text = '([.[0] | keys_unsorted[]]), (.[] | [.[]]) | @csv'
    write("jq-csv.csv", run(["jq", "-r", text], JSON.encode()))
    write("jq-stream.json", run(["jq", ".[]"], JSON.encode()))


@made_by
def sqlite():
    make = (f"CREATE TABLE o (order_id TEXT, ts TEXT, status TEXT, city TEXT, amount REAL, visits INTEGER, paid INTEGER);"
            f"INSERT INTO o VALUES {rows_of_sql(lambda text: text.replace('T', ' ').rstrip('Z'))};")
    ask = "SELECT * FROM o;"
    write("sqlite-csv.csv", run(["sqlite3", "-csv", "-header", ":memory:", make + ask]))
    write("sqlite-json.json", run(["sqlite3", "-json", ":memory:", make + ask]))
    write("sqlite-semicolons.csv", run(["sqlite3", "-header", "-separator", ";", ":memory:", make + "SELECT order_id, ts, amount, visits FROM o WHERE order_id = '007';"]))
    write("sqlite-list.csv", run(["sqlite3", "-header", "-list", ":memory:", make + "SELECT order_id, ts, visits FROM o WHERE visits;"]))


GO = """
package main

import ("encoding/csv"; "encoding/json"; "fmt"; "io"; "os"; "time")

type Order struct {
	OrderID string    `json:"order_id"`
	Ts      time.Time `json:"ts"`
	Status  string    `json:"status"`
	City    *string   `json:"city"`
	Amount  float64   `json:"amount"`
	Visits  *int64    `json:"visits,omitempty"`
	Paid    *bool     `json:"paid"`
}

func main() {
	text, _ := io.ReadAll(os.Stdin)
	var orders []Order
	if err := json.Unmarshal(text, &orders); err != nil { panic(err) }
	zone := time.FixedZone("CET", 3600)
	if os.Args[1] == "json" {
		encoder := json.NewEncoder(os.Stdout)
		for _, order := range orders { order.Ts = order.Ts.In(zone); encoder.Encode(order) }
		return
	}
	writer := csv.NewWriter(os.Stdout)
	writer.Write([]string{"order_id", "ts", "status", "amount", "paid"})
	for _, order := range orders {
		paid := ""
		if order.Paid != nil { paid = fmt.Sprint(*order.Paid) }
		writer.Write([]string{order.OrderID, order.Ts.Format(time.RFC3339Nano), order.Status, fmt.Sprintf("%g", order.Amount), paid})
	}
	writer.Flush()
}
"""


@made_by
def go():
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "main.go").write_text(GO, encoding="utf-8")
        write("go-json.jsonl", run(["go", "run", "main.go", "json"], JSON.encode(), folder))
        write("go-csv.csv", run(["go", "run", "main.go", "csv"], JSON.encode(), folder))


JAVA = """
import java.io.PrintStream;
import java.time.*;
import java.time.format.DateTimeFormatter;

public class Orders {
    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, args[0].equals("utf16") ? "UTF-16" : "UTF-8");
        Instant[] at = {Instant.parse("2026-11-21T10:00:00.250Z"), Instant.parse("2026-11-21T10:00:01Z"), Instant.parse("2026-11-21T23:59:59.999Z")};
        String[] ids = {"A-001", "007", "C;3"}, cities = {"K\\u00f6ln, Altstadt", null, "\\u6771\\u4eac"};
        double[] amounts = {19.9, 1e-7, 0.1 + 0.2};
        out.print("order_id,ts,city,amount\\r\\n");
        for (int i = 0; i < 3; i++) {
            Object when = args[0].equals("zoned") ? at[i].atZone(ZoneId.of("Asia/Shanghai")) :
                          args[0].equals("offset") ? at[i].atOffset(ZoneOffset.ofHours(8)) : at[i];
            out.print(ids[i] + "," + when + "," + (cities[i] == null ? "" : "\\"" + cities[i] + "\\"") + "," + amounts[i] + "\\r\\n");
        }
    }
}
"""


@made_by
def java():
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "Orders.java").write_text(JAVA, encoding="utf-8")
        for name in ("instant", "offset", "zoned", "utf16"):
            write(f"java-{name}.csv", run(["java", "Orders.java", name], folder=folder))


@made_by
def node():
    write("node-json.json", run(["node", "-e", "const o = JSON.parse(require('fs').readFileSync(0)); for (const r of o) r.ts = new Date(r.ts);"
                                 "console.log(JSON.stringify(o))"], JSON.encode()))
    write("node-inspect.json", run(["node", "-e", "console.log(JSON.parse(require('fs').readFileSync(0)))"], JSON.encode()))
    write("node-date-string.csv", run(["node", "-e", "const o = JSON.parse(require('fs').readFileSync(0)); console.log('order_id,ts');"
                                       "for (const r of o) console.log(r.order_id + ',' + new Date(r.ts))"], JSON.encode()))


@made_by
def pandas():
    import pandas as pd  # pylint: disable=import-error,import-outside-toplevel
    frame = pd.DataFrame(RECORDS)
    frame["ts"] = pd.to_datetime(frame["ts"])
    frame.to_csv(FOLDER / "pandas-csv.csv", index=False)
    frame.to_csv(FOLDER / "pandas-index.csv")
    frame.to_csv(FOLDER / "pandas-na.csv", index=False, na_rep="NA", sep="\t")
    frame.to_json(FOLDER / "pandas-epoch.jsonl", orient="records", lines=True)
    frame.to_json(FOLDER / "pandas-iso.json", orient="records", date_format="iso")
    frame.to_json(FOLDER / "pandas-columns.json")
    frame.astype({"visits": "Int64", "paid": "boolean"}).to_csv(FOLDER / "pandas-nullable.csv", index=False)
    print("made pandas-*", pd.__version__)


@made_by
def libreoffice():
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "orders.csv")
        source.write_bytes((FOLDER / "python-csv.csv").read_bytes())
        convert = ["soffice", "--headless", f"-env:UserInstallation=file://{folder}/profile"]
        out = ["--outdir", folder]
        # 44: comma, 34: quote, 76: UTF-8, 1: first line, 1/2: order_id as text; then as a sheet, and back to CSV
        run([*convert, "--infilter=CSV:44,34,76,1,1/2", "--convert-to", "ods", *out, str(source)])
        sheet = str(pathlib.Path(folder, "orders.ods"))
        for name, filters in (("csv", "44,34,76,1,,1033,false,true"), ("quoted", "44,34,76,1,,1033,true,true"), ("tab-utf16", "9,34,65535,1"),
                              ("german", "59,34,76,1,,1031,false,true")):
            run([*convert, "--convert-to", f"csv:Text - txt - csv (StarCalc):{filters}", *out, sheet])
            write(f"libreoffice-{name}.csv", pathlib.Path(folder, "orders.csv").read_bytes())


@made_by
def mariadb():
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder, "data")
        run(["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root", "--auth-root-authentication-method=normal"])
        outfile = f"SELECT * FROM d.o INTO OUTFILE '{folder}/out.txt' CHARACTER SET utf8mb4"
        script = ["CREATE DATABASE d",
                  "CREATE TABLE d.o (order_id VARCHAR(9), ts DATETIME(3), status TEXT, city TEXT, amount DOUBLE, visits BIGINT, paid BOOL) CHARACTER SET utf8mb4",
                  "SET NAMES utf8mb4",
                  "INSERT INTO d.o VALUES " + rows_of_sql(lambda text: text.replace("T", " ").rstrip("Z")).replace("\n", "\\n"),
                  outfile, outfile.replace("out.txt", "out.csv") + " FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"'"]
        start = ["mariadbd", "--no-defaults", f"--datadir={data}", "--bootstrap", "--user=root", "--character-set-server=utf8mb4"]
        run(start, "".join(line + ";\n" for line in script).encode())
        head = "\t".join(NAMES) + "\n"
        write("mariadb-outfile.tsv", head.encode() + pathlib.Path(folder, "out.txt").read_bytes())
        write("mariadb-outfile.csv", ",".join(NAMES).encode() + b"\n" + pathlib.Path(folder, "out.csv").read_bytes())
        socket = f"--socket={folder}/socket"
        server = subprocess.Popen([*start[:3], "--user=root", "--skip-networking", socket, "--character-set-server=utf8mb4"], stderr=subprocess.DEVNULL)
        try:
            while not pathlib.Path(folder, "socket").exists():
                time.sleep(0.1)
            client = ["mariadb", "--no-defaults", socket, "--user=root", "--default-character-set=utf8mb4", "--batch"]
            write("mariadb-batch.tsv", run([*client, "--execute=SELECT * FROM d.o"]))
        finally:
            server.terminate()
            server.wait()


@made_by
def sqlline():
    """sqlline, with which Phoenix exports tables, on another database. SQLLINE_JARS: the class path with sqlline and H2."""
    with tempfile.TemporaryDirectory() as folder:
        columns = ", ".join(f'{name} AS "{name}"' for name in NAMES)
        script = ["CREATE TABLE o (order_id VARCHAR(9), ts TIMESTAMP(3), status VARCHAR, city VARCHAR, amount DOUBLE, visits BIGINT, paid BOOLEAN);",
                  "INSERT INTO o VALUES " + rows_of_sql(lambda text: text.replace("T", " ").rstrip("Z")).replace("\n", "'||CHAR(10)||'") + ";"]
        for form in ("csv", "tsv", "json"):
            script += [f"!outputformat {form}", f"!record {folder}/out.{form}", f"SELECT {columns} FROM o;", "!record"]
        pathlib.Path(folder, "script").write_text("\n".join([*script, "!quit", ""]), encoding="utf-8")
        run(["java", "-Dfile.encoding=UTF-8", "-Duser.timezone=UTC", "-cp", os.environ["SQLLINE_JARS"], "sqlline.SqlLine",
             "-u", "jdbc:h2:mem:o", "-n", "sa", "-p", "", "--silent=true", f"--run={folder}/script"])
        for form in ("csv", "tsv", "json"):
            content = pathlib.Path(folder, "out." + form).read_bytes()
            write(f"sqlline-{form}.{form}", content.split(b"\n", 1)[1])  # the first line is the message "Saving all output to ..."


if __name__ == "__main__":
    for maker in sys.argv[2:] or MADE:
        try:
            MADE[maker]()
        except (FileNotFoundError, ImportError, KeyError, subprocess.CalledProcessError) as error:
            print("skipped", maker, error, (getattr(error, "stderr", b"") or b"")[-600:].decode("utf-8", "replace"))
