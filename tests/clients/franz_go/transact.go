package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Transaction has the values of a transaction, each with its partition, and how it ends.
type Transaction struct {
	Values  [][2]any `json:"values"`
	Commits bool     `json:"commits"`
}

var transactionalSteps = map[string]func(context.Context, Step) (any, error){
	"transact": transact,
	"copy":     copyRecords,
	"fence":    fence,
	"expire":   expire,
}

func transacting(step Step) []kgo.Opt {
	options := []kgo.Opt{
		kgo.SeedBrokers(step.Bootstrap),
		kgo.DisableClientMetrics(),
		kgo.TransactionalID(step.ID),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0),
	}
	if step.TimeoutMs > 0 {
		options = append(options, kgo.TransactionTimeout(time.Duration(step.TimeoutMs)*time.Millisecond))
	}
	return options
}

func write(ctx context.Context, client *kgo.Client, topic string, partition int32, value string) error {
	record := &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)}
	return client.ProduceSync(ctx, record).FirstErr()
}

func transact(ctx context.Context, step Step) (any, error) {
	client, err := kgo.NewClient(transacting(step)...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for _, transaction := range step.Transactions {
		if err := client.BeginTransaction(); err != nil {
			return nil, err
		}
		for _, row := range transaction.Values {
			err := write(ctx, client, step.Topic, int32(row[0].(float64)), row[1].(string))
			if err != nil {
				return nil, err
			}
		}
		if err := client.EndTransaction(ctx, kgo.TransactionEndTry(transaction.Commits)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// The offset that the group has committed, or nil.
func committed(ctx context.Context, step Step) (any, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(step.Bootstrap), kgo.DisableClientMetrics())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	offsets, err := kadm.NewClient(client).FetchOffsets(ctx, step.Group)
	if err != nil {
		return nil, err
	}
	if offset, exists := offsets.Lookup(step.Topic, 0); exists && offset.At >= 0 {
		return offset.At, nil
	}
	return nil, nil
}

// Copies a partition with the offsets that were read; the first transaction is aborted.
func copyRecords(ctx context.Context, step Step) (any, error) {
	options := append(transacting(step),
		kgo.ConsumerGroup(step.Group),
		kgo.ConsumeTopics(step.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
	)
	session, err := kgo.NewGroupTransactSession(options...)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	result, aborts := map[string]any{}, true
	for copied := 0; copied < step.Count; {
		fetches := session.PollRecords(ctx, max(1, step.Count/3))
		if errs := fetches.Errors(); len(errs) > 0 {
			return nil, fmt.Errorf("%d records were copied: %w", copied, errs[0].Err)
		}
		if fetches.NumRecords() == 0 {
			continue
		}
		if err := session.Begin(); err != nil {
			return nil, err
		}
		for _, record := range fetches.Records() {
			if err := write(ctx, session.Client(), step.To, 0, string(record.Value)); err != nil {
				return nil, err
			}
		}
		ended, err := session.End(ctx, kgo.TransactionEndTry(!aborts))
		if err != nil {
			return nil, err
		}
		if aborts {
			if result["after_abort"], err = committed(ctx, step); err != nil {
				return nil, err
			}
			aborts = false
		} else if ended {
			copied += fetches.NumRecords()
		}
	}
	result["committed"], err = committed(ctx, step)
	return result, err
}

func errorName(err error) any {
	var known *kerr.Error
	if errors.As(err, &known) {
		return known.Message
	}
	if err != nil {
		return err.Error()
	}
	return nil
}

// A second producer of one transactional id commits; then the first one tries to.
func fence(ctx context.Context, step Step) (any, error) {
	zombie, err := kgo.NewClient(transacting(step)...)
	if err != nil {
		return nil, err
	}
	defer zombie.Close()
	if err := zombie.BeginTransaction(); err != nil {
		return nil, err
	}
	if err := write(ctx, zombie, step.Topic, 0, "zombie"); err != nil {
		return nil, err
	}
	newer := step
	newer.Transactions = []Transaction{{Values: [][2]any{{0.0, "new"}}, Commits: true}}
	if _, err := transact(ctx, newer); err != nil {
		return nil, err
	}
	return errorName(zombie.EndTransaction(ctx, kgo.TryCommit)), nil
}

// A transaction that is open longer than it may be, by the error of the record after it.
func expire(ctx context.Context, step Step) (any, error) {
	client, err := kgo.NewClient(transacting(step)...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := client.BeginTransaction(); err != nil {
		return nil, err
	}
	for err == nil {
		err = write(ctx, client, step.Topic, 0, "late")
	}
	result := map[string]any{"error": errorName(err)}
	err = client.EndTransaction(ctx, kgo.TryAbort)
	if err == nil {
		err = client.BeginTransaction()
	}
	if err == nil {
		err = write(ctx, client, step.Topic, 0, "after")
	}
	if err == nil {
		err = client.EndTransaction(ctx, kgo.TryCommit)
	}
	result["continues"] = err == nil
	if err != nil {
		result["fatal"] = errorName(err)
	}
	return result, nil
}
