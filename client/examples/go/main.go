// Order events through Keyway, in Go. Arguments: HOST:PORT [framed] [compact]
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"orders/gen/keyway"
)

const tenOClock = int64(1795255200000) // 2026-11-21T10:00:00Z in milliseconds

var statuses = []string{"created", "paid", "shipped", "delivered"}

func text(s string) *keyway.Value  { return &keyway.Value{Text: &s} }
func number(n int64) *keyway.Value { return &keyway.Value{Number: &n} }
func real(r float64) *keyway.Value { return &keyway.Value{Real: &r} }

func connect(address string, framed, compact bool) (*keyway.DataClient, error) {
	// Longer than the gateway's default deadline of 30 s.
	conf := &thrift.TConfiguration{ConnectTimeout: 10 * time.Second, SocketTimeout: 40 * time.Second}
	var transport thrift.TTransport = thrift.NewTSocketConf(address, conf)
	if framed {
		transport = thrift.NewTFramedTransportConf(transport, conf)
	} else {
		transport = thrift.NewTBufferedTransport(transport, 8192)
	}
	var factory thrift.TProtocolFactory = thrift.NewTBinaryProtocolFactoryConf(conf)
	if compact {
		factory = thrift.NewTCompactProtocolFactoryConf(conf)
	}
	return keyway.NewDataClientFactory(transport, factory), transport.Open()
}

func putEvents(ctx context.Context, client *keyway.DataClient) error {
	var records []keyway.Record
	for _, orderID := range []string{"A-1001", "A-1002", "A-1003"} {
		for step, status := range statuses {
			records = append(records, keyway.Record{
				"order_id": text(orderID),
				"ts":       number(tenOClock + int64(step)*60_000),
				"status":   text(status),
				"amount":   real(9.75),
			})
		}
	}
	written, err := client.PutMany(ctx, "order_events", records, &keyway.Options{})
	if err != nil {
		return err
	}
	for _, one := range written {
		if one.Failure != nil {
			return errors.New(one.Failure.Message)
		}
	}
	fmt.Printf("put %d events\n", len(records))
	return nil
}

func eventsOf(orderID string) *keyway.Query {
	query := keyway.NewQuery()
	query.Table = "order_events"
	query.Bound = keyway.Record{"order_id": text(orderID)}
	return query
}

func showLatest(ctx context.Context, client *keyway.DataClient, orderID string) error {
	query := eventsOf(orderID)
	query.Limit = thrift.Int64Ptr(1)
	page, err := client.Latest(ctx, query)
	if err != nil {
		return err
	}
	fmt.Printf("latest %s: %s, %d scanned\n", orderID, page.Rows[0]["status"].GetText(), page.RowsScanned)
	return nil
}

// Newest first, three rows per page. The gateway keeps no state between two pages.
func showAll(ctx context.Context, client *keyway.DataClient, orderID string) error {
	query := eventsOf(orderID)
	query.Order = keyway.OrderPtr(keyway.Order_DESCENDING)
	query.PageRows = thrift.Int32Ptr(3)
	var found []string
	page, err := client.Scan(ctx, query)
	for err == nil {
		for _, row := range page.Rows {
			found = append(found, row["status"].GetText())
		}
		if page.Cursor == nil {
			fmt.Printf("events %s: %s\n", orderID, strings.Join(found, " "))
			return nil
		}
		page, err = client.NextPage(ctx, page.Cursor, &keyway.Options{})
	}
	return err
}

func showError(ctx context.Context, client *keyway.DataClient) error {
	_, err := client.Describe(ctx, "no_such_table")
	var failure *keyway.KeywayError
	if !errors.As(err, &failure) {
		return err
	}
	fmt.Printf("error %s\n", failure.Code)
	return nil
}

func run(address string, framed, compact bool) error {
	ctx := context.Background()
	client, err := connect(address, framed, compact)
	if err != nil {
		return err
	}
	if err := putEvents(ctx, client); err != nil {
		return err
	}
	if err := showLatest(ctx, client, "A-1002"); err != nil {
		return err
	}
	if err := showAll(ctx, client, "A-1002"); err != nil {
		return err
	}
	return showError(ctx, client)
}

func given(word string) bool {
	for _, argument := range os.Args[2:] {
		if argument == word {
			return true
		}
	}
	return false
}

func main() {
	if err := run(os.Args[1], given("framed"), given("compact")); err != nil {
		log.Fatal(err)
	}
}
