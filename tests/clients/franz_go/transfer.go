package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

var acks = map[string]kgo.Acks{"0": kgo.NoAck(), "1": kgo.LeaderAck(), "all": kgo.AllISRAcks()}

func producing(step Step) []kgo.Opt {
	options := []kgo.Opt{
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(codecs[step.Codec]),
		kgo.ProducerBatchMaxBytes(step.MaxBytes),
		kgo.RequiredAcks(acks[step.Acks]),
		kgo.ProducerLinger(5 * time.Millisecond),
	}
	if !step.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	return options
}

func produce(ctx context.Context, client *kgo.Client, step Step) (any, error) {
	file, err := os.Open(step.File)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var records []*kgo.Record
	for rows := json.NewDecoder(bufio.NewReader(file)); rows.More(); {
		record, err := fromRow(step.Topic, rows)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	results := client.ProduceSync(ctx, records...)
	if err := results.FirstErr(); err != nil {
		return nil, err
	}
	offsets := make([]int64, len(records))
	for n, record := range records {
		offsets[n] = record.Offset // records are what the results point at
	}
	return offsets, nil
}

func fromRow(topic string, rows *json.Decoder) (*kgo.Record, error) {
	var at *int64
	var headers [][2]json.RawMessage
	record := &kgo.Record{Topic: topic}
	row := []any{&record.Partition, &at, &record.Key, &record.Value, &headers}
	if err := rows.Decode(&row); err != nil {
		return nil, err
	}
	if at != nil {
		record.Timestamp = time.UnixMilli(*at)
	}
	for _, pair := range headers {
		var header kgo.RecordHeader
		if err := json.Unmarshal(pair[0], &header.Key); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(pair[1], &header.Value); err != nil {
			return nil, err
		}
		record.Headers = append(record.Headers, header)
	}
	return record, nil
}

func reading(step Step) []kgo.Opt {
	starts := make(map[int32]kgo.Offset)
	for _, span := range step.Spans {
		starts[int32(span[0])] = kgo.NewOffset().At(span[1])
	}
	return []kgo.Opt{
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{step.Topic: starts}),
		kgo.FetchMaxWait(time.Second),
	}
}

func read(ctx context.Context, client *kgo.Client, step Step) (any, error) {
	ends, left := make(map[int32]int64), int64(0)
	for _, span := range step.Spans {
		ends[int32(span[0])] = span[2]
		left += span[2] - span[1]
	}
	file, err := os.Create(step.File)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	buffered := bufio.NewWriter(file)
	rows, count := json.NewEncoder(buffered), int64(0)
	for count < left {
		fetches := client.PollFetches(ctx)
		if errs := fetches.Errors(); len(errs) > 0 {
			return nil, fmt.Errorf("%d records of %d: %w", count, left, errs[0].Err)
		}
		for _, record := range fetches.Records() {
			if record.Offset >= ends[record.Partition] {
				continue
			}
			count++
			if err := rows.Encode(toRow(record)); err != nil {
				return nil, err
			}
		}
	}
	return count, buffered.Flush()
}

func toRow(record *kgo.Record) []any {
	headers := make([][2]any, 0, len(record.Headers))
	for _, header := range record.Headers {
		headers = append(headers, [2]any{header.Key, header.Value})
	}
	at := record.Timestamp.UnixMilli()
	return []any{record.Partition, record.Offset, at, record.Key, record.Value, headers}
}

// How often a member looks for topics that have come.
const newTopics = time.Second

func subscribing(step Step) []kgo.Opt {
	session := time.Duration(step.SessionMs) * time.Millisecond
	options := []kgo.Opt{
		kgo.ConsumerGroup(step.Group),
		kgo.ConsumeTopics(step.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(session),
		kgo.HeartbeatInterval(session / 6),
		kgo.Balancers(kgo.RangeBalancer()),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
	}
	if step.Expression {
		options = append(options, kgo.ConsumeRegex(), kgo.MetadataMinAge(newTopics), kgo.MetadataMaxAge(newTopics))
	}
	return options
}

// What is processed is committed; what a rebalance refuses, another member processes again.
func subscribe(ctx context.Context, client *kgo.Client, step Step) (any, error) {
	file, err := os.OpenFile(step.File, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	count := 0
	for {
		if _, err := os.Stat(step.Until); err == nil {
			return count, nil
		}
		polled, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		fetches := client.PollFetches(polled)
		cancel()
		buffered := bufio.NewWriter(file)
		rows := json.NewEncoder(buffered)
		for _, record := range fetches.Records() {
			count++
			if err := rows.Encode(toRow(record)); err != nil {
				return nil, err
			}
		}
		if err := buffered.Flush(); err != nil {
			return nil, err
		}
		committed, cancel := context.WithTimeout(ctx, timeout)
		_ = client.CommitUncommittedOffsets(committed)
		cancel()
		client.AllowRebalance()
	}
}
