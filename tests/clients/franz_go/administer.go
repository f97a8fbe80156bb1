package main

import (
	"context"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func createTopic(ctx context.Context, client *kgo.Client, step Step) (any, error) {
	configs := make(map[string]*string)
	for name, value := range step.Configs {
		configs[name] = &value
	}
	_, err := kadm.NewClient(client).CreateTopic(ctx, step.Partitions, 1, configs, step.Topic)
	return nil, err
}

func createPartitions(ctx context.Context, client *kgo.Client, step Step) (any, error) {
	found, err := kadm.NewClient(client).UpdatePartitions(ctx, step.Count, step.Topic)
	if err == nil {
		err = found.Error()
	}
	return nil, err
}

func deleteTopic(ctx context.Context, client *kgo.Client, step Step) (any, error) {
	_, err := kadm.NewClient(client).DeleteTopic(ctx, step.Topic)
	return nil, err
}

func listTopics(ctx context.Context, client *kgo.Client, _ Step) (any, error) {
	found, err := kadm.NewClient(client).ListTopics(ctx)
	return found.Names(), err
}

func describeTopic(ctx context.Context, client *kgo.Client, step Step) (any, error) {
	found, err := kadm.NewClient(client).ListTopics(ctx, step.Topic)
	if err == nil {
		err = found.Error()
	}
	if err != nil {
		return nil, err
	}
	var rows [][]any
	for _, partition := range found[step.Topic].Partitions.Sorted() {
		rows = append(rows, []any{
			partition.Partition, partition.Leader, partition.Replicas, partition.ISR,
		})
	}
	return rows, nil
}

func describeCluster(ctx context.Context, client *kgo.Client, _ Step) (any, error) {
	found, err := kadm.NewClient(client).BrokerMetadata(ctx)
	if err != nil {
		return nil, err
	}
	var nodes [][]any
	for _, broker := range found.Brokers {
		nodes = append(nodes, []any{broker.NodeID, broker.Host, broker.Port})
	}
	return map[string]any{
		"cluster_id": found.Cluster, "controller": found.Controller, "nodes": nodes,
	}, nil
}

func describeConfigs(ctx context.Context, client *kgo.Client, step Step) (any, error) {
	admin := kadm.NewClient(client)
	var found kadm.ResourceConfigs
	var err error
	if step.Kind == "topic" {
		found, err = admin.DescribeTopicConfigs(ctx, step.Name)
	} else {
		var id int
		if id, err = strconv.Atoi(step.Name); err == nil {
			found, err = admin.DescribeBrokerConfigs(ctx, int32(id))
		}
	}
	if err != nil {
		return nil, err
	}
	rows := make(map[string][]any)
	for _, config := range found[0].Configs {
		rows[config.Key] = []any{config.Value, config.Source != kmsg.ConfigSourceDefaultConfig}
	}
	return rows, found[0].Err
}

func alterConfigs(ctx context.Context, client *kgo.Client, step Step) (any, error) {
	var changes []kadm.AlterConfig
	for name, value := range step.Set {
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: &value})
	}
	for _, name := range step.Delete {
		changes = append(changes, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: name})
	}
	admin := kadm.NewClient(client)
	var found kadm.AlterConfigsResponses
	var err error
	if step.Kind == "topic" {
		found, err = admin.AlterTopicConfigs(ctx, changes, step.Name)
	} else {
		var id int
		if id, err = strconv.Atoi(step.Name); err == nil {
			found, err = admin.AlterBrokerConfigs(ctx, changes, int32(id))
		}
	}
	if err != nil {
		return nil, err
	}
	return nil, found[0].Err
}

func offsets(ctx context.Context, client *kgo.Client, step Step) (any, error) {
	admin := kadm.NewClient(client)
	var rows []any
	for _, time := range step.Times {
		var found kadm.ListedOffsets
		var err error
		switch time {
		case "earliest":
			found, err = admin.ListStartOffsets(ctx, step.Topic)
		case "latest":
			found, err = admin.ListEndOffsets(ctx, step.Topic)
		case "max_timestamp":
			found, err = admin.ListMaxTimestampOffsets(ctx, step.Topic)
		default:
			row, err := offsetAt(ctx, client, step, int64(time.(float64)))
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
			continue
		}
		if err == nil {
			err = found.Error()
		}
		if err != nil {
			return nil, err
		}
		offset, _ := found.Lookup(step.Topic, step.Partition)
		rows = append(rows, offset.Offset)
	}
	return rows, nil
}

// The admin client gives the end where there is no such offset, so it is asked for as it stands.
func offsetAt(ctx context.Context, client *kgo.Client, step Step, time int64) (any, error) {
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = -1
	partition := kmsg.NewListOffsetsRequestTopicPartition()
	partition.Partition, partition.Timestamp = step.Partition, time
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = step.Topic
	topic.Partitions = append(topic.Partitions, partition)
	request.Topics = append(request.Topics, topic)
	found, err := request.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	offset := found.Topics[0].Partitions[0].Offset
	if offset == -1 {
		return nil, nil
	}
	return offset, nil
}
