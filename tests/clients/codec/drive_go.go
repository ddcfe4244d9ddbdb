// Random values through the codec and back, with the Go runtime: drive_go PIPE SEED ROUNDS.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand"
	"os"
	"os/exec"
	"reflect"
	"strconv"

	"codec/keyway"
	"codec/keyway_hbase"

	"github.com/apache/thrift/lib/go/thrift"
)

var random *rand.Rand

var special = []int64{0, 1, -1, 63, 64, -64, -65, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64}

func chance(share float64) bool { return random.Float64() < share }

func i64() int64 {
	if chance(0.3) {
		return special[random.Intn(len(special))]
	}
	return int64(random.Uint64())
}

func i32() int32 { return int32(i64()) }

func blob() []byte {
	sizes := []int{0, 1, 5, 16, 17, 100, 300}
	made := make([]byte, sizes[random.Intn(len(sizes))])
	random.Read(made)
	return made
}

func text() string {
	letters := []rune("abcxyz09 äß水😀")
	made := make([]rune, random.Intn(20))
	for i := range made {
		made[i] = letters[random.Intn(len(letters))]
	}
	return string(made)
}

func count() int { return []int{0, 1, 2, 3, 15, 16}[random.Intn(6)] }

func value() *keyway.Value {
	made := keyway.NewValue()
	switch random.Intn(5) {
	case 0:
		made.Flag = thrift.BoolPtr(chance(0.5))
	case 1:
		made.Number = thrift.Int64Ptr(i64())
	case 2:
		made.Real = thrift.Float64Ptr(random.NormFloat64() * 1e9)
	case 3:
		made.Text = thrift.StringPtr(text())
	default:
		made.Bytes = blob()
	}
	return made
}

func record() keyway.Record {
	made := keyway.Record{}
	for i := random.Intn(5); i > 0; i-- {
		made[text()] = value()
	}
	return made
}

func records() []keyway.Record {
	made := []keyway.Record{}
	for i := count(); i > 0; i-- {
		made = append(made, record())
	}
	return made
}

func interval() *keyway.Range {
	made := keyway.NewRange()
	made.Field = text()
	if chance(0.6) {
		made.FromValue = value()
	}
	if chance(0.6) {
		made.ToValue = value()
	}
	if chance(0.6) {
		made.FromInclusive = thrift.BoolPtr(chance(0.5))
		made.ToInclusive = thrift.BoolPtr(chance(0.5))
	}
	return made
}

func query() thrift.TStruct {
	made := keyway.NewQuery()
	made.Table = text()
	if chance(0.6) {
		made.Bound = record()
	}
	if chance(0.6) {
		made.BoundAny = map[string][]*keyway.Value{}
		for i := 0; i < 3; i++ {
			values := []*keyway.Value{}
			for n := count(); n > 0; n-- {
				values = append(values, value())
			}
			made.BoundAny[text()] = values
		}
	}
	if chance(0.6) {
		made.Range = interval()
	}
	if chance(0.6) {
		made.Order = keyway.OrderPtr(keyway.Order_DESCENDING)
	}
	if chance(0.6) {
		made.Columns = []string{}
		for n := count(); n > 0; n-- {
			made.Columns = append(made.Columns, text())
		}
	}
	if chance(0.6) {
		made.Limit = thrift.Int64Ptr(i64())
		made.PageRows = thrift.Int32Ptr(i32())
	}
	if chance(0.6) {
		made.FullScan = thrift.BoolPtr(chance(0.5))
	}
	if chance(0.6) {
		made.SkipUndecodable = thrift.BoolPtr(chance(0.5))
	}
	return made
}

func page() thrift.TStruct {
	made := keyway.NewPage()
	made.Rows = records()
	if chance(0.6) {
		made.Cursor = blob()
	}
	made.RowsScanned = i64()
	made.RowsReturned = i64()
	return made
}

func cells() []*keyway_hbase.TColumnValue {
	made := []*keyway_hbase.TColumnValue{}
	for n := count(); n > 0; n-- {
		cell := keyway_hbase.NewTColumnValue()
		cell.Family, cell.Qualifier, cell.Value = blob(), blob(), blob()
		if chance(0.6) {
			cell.Timestamp = thrift.Int64Ptr(i64())
		}
		if chance(0.3) {
			cell.Tags = blob()
		}
		if chance(0.3) {
			cell.Type = thrift.Int8Ptr(int8(i64()))
		}
		made = append(made, cell)
	}
	return made
}

func put() thrift.TStruct {
	made := keyway_hbase.NewTPut()
	made.Row, made.ColumnValues = blob(), cells()
	if chance(0.6) {
		made.Timestamp = thrift.Int64Ptr(i64())
	}
	if chance(0.6) {
		made.Attributes = map[string][]byte{}
		for i := 0; i < 3; i++ {
			made.Attributes[string(blob())] = blob()
		}
	}
	if chance(0.6) {
		made.Durability = keyway_hbase.TDurabilityPtr(keyway_hbase.TDurability_ASYNC_WAL)
	}
	if chance(0.6) {
		made.CellVisibility = &keyway_hbase.TCellVisibility{Expression: thrift.StringPtr(text())}
	}
	return made
}

func result() thrift.TStruct {
	made := keyway_hbase.NewTResult_()
	made.ColumnValues = cells()
	if chance(0.6) {
		made.Row = blob()
	}
	made.Stale, made.Partial = chance(0.5), chance(0.5)
	return made
}

var empty = []func() thrift.TStruct{
	func() thrift.TStruct { return keyway.NewQuery() },
	func() thrift.TStruct { return keyway.NewPage() },
	func() thrift.TStruct { return keyway_hbase.NewTPut() },
	func() thrift.TStruct { return keyway_hbase.NewTResult_() },
}

func protocol(which byte, transport thrift.TTransport) thrift.TProtocol {
	if which == 0 {
		return thrift.NewTBinaryProtocolConf(transport, nil)
	}
	return thrift.NewTCompactProtocolConf(transport, nil)
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func encode(value thrift.TStruct, which byte) []byte {
	buffer := thrift.NewTMemoryBuffer()
	out := protocol(which, buffer)
	check(value.Write(context.Background(), out))
	check(out.Flush(context.Background()))
	return buffer.Bytes()
}

func decode(table int, bytes []byte, which byte) thrift.TStruct {
	buffer := thrift.NewTMemoryBuffer()
	_, err := buffer.Write(bytes)
	check(err)
	value := empty[table]()
	check(value.Read(context.Background(), protocol(which, buffer)))
	if buffer.Len() != 0 {
		check(fmt.Errorf("%d bytes are left after the value", buffer.Len()))
	}
	return value
}

func through(in io.Writer, out io.Reader, head []byte, bytes []byte) []byte {
	request := append(append([]byte{}, head...), 0, 0, 0, 0)
	binary.BigEndian.PutUint32(request[3:], uint32(len(bytes)))
	_, err := in.Write(append(request, bytes...))
	check(err)
	answer := make([]byte, 5)
	_, err = io.ReadFull(out, answer)
	check(err)
	body := make([]byte, binary.BigEndian.Uint32(answer[1:]))
	_, err = io.ReadFull(out, body)
	check(err)
	if answer[0] != 0 {
		check(fmt.Errorf("the codec refused: %s", body))
	}
	return body
}

// A struct literal sends only the members that it names, so the gateway's defaults apply to the others.
func checkLiteral() {
	named := "\x0b\x00\x01\x00\x00\x00\x01t\x00" // field 1, a string of one byte, end of the struct
	if sent := encode(&keyway.Range{Field: "t"}, 0); string(sent) != named {
		check(fmt.Errorf("Range{Field: \"t\"} was sent as %q", sent))
	}
}

func main() {
	checkLiteral()
	seed, err := strconv.ParseInt(os.Args[2], 10, 64)
	check(err)
	rounds, err := strconv.Atoi(os.Args[3])
	check(err)
	random = rand.New(rand.NewSource(seed))
	pipe := exec.Command(os.Args[1])
	pipe.Stderr = os.Stderr
	in, err := pipe.StdinPipe()
	check(err)
	raw, err := pipe.StdoutPipe()
	check(err)
	check(pipe.Start())
	out := bufio.NewReader(raw)
	trips := 0
	for ; rounds > 0; rounds-- {
		for table, make := range []func() thrift.TStruct{query, page, put, result} {
			value := make()
			for source := byte(0); source < 2; source++ {
				for target := byte(0); target < 2; target++ {
					back := through(in, out, []byte{byte(table), source, target}, encode(value, source))
					if !reflect.DeepEqual(decode(table, back, target), value) {
						check(fmt.Errorf("%v came back as %v", value, decode(table, back, target)))
					}
					trips++
				}
			}
		}
	}
	check(in.Close())
	check(pipe.Wait())
	fmt.Println(trips, "round trips")
}
