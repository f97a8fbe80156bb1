// The franz-go client: all steps, one line of JSON in and one out for each (docs/reference/clients.md).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const timeout = 60 * time.Second

// Step has the fields of every step; a step uses those that it is for.
type Step struct {
	Do         string            `json:"do"`
	Bootstrap  string            `json:"bootstrap"`
	Topic      string            `json:"topic"`
	Partition  int32             `json:"partition"`
	Partitions int32             `json:"partitions"`
	Count      int               `json:"count"`
	Configs    map[string]string `json:"configs"`
	Kind       string            `json:"kind"`
	Name       string            `json:"name"`
	Set        map[string]string `json:"set"`
	Delete     []string          `json:"delete"`
	Times      []any             `json:"times"`
	File       string            `json:"file"`
	Spans      [][3]int64        `json:"spans"`
	Codec      string            `json:"codec"`
	Acks       string            `json:"acks"`
	Idempotent bool              `json:"idempotent"`
	MaxBytes   int32             `json:"max_bytes"`
	Group      string            `json:"group"`
	Expression bool              `json:"expression"`
	SessionMs  int64             `json:"session_ms"`
	Until      string            `json:"until"`
	ID         string            `json:"id"`
	To         string            `json:"to"`
	TimeoutMs  int64             `json:"timeout_ms"`
	Login      *Login            `json:"login"`

	Transactions []Transaction `json:"transactions"`
}

type taken func(context.Context, *kgo.Client, Step) (any, error)

var steps = map[string]taken{
	"create_topic":      createTopic,
	"create_partitions": createPartitions,
	"delete_topic":      deleteTopic,
	"list_topics":       listTopics,
	"describe_topic":    describeTopic,
	"describe_cluster":  describeCluster,
	"describe_configs":  describeConfigs,
	"alter_configs":     alterConfigs,
	"offsets":           offsets,
	"produce":           produce,
	"read":              read,
	"subscribe":         subscribe,
}

func take(step Step) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if transactional := transactionalSteps[step.Do]; transactional != nil {
		return transactional(ctx, step) // its clients are its own
	}
	options, err := step.Login.options()
	if err != nil {
		return nil, err
	}
	options = append(options, kgo.SeedBrokers(step.Bootstrap), kgo.DisableClientMetrics())
	switch step.Do {
	case "produce":
		options = append(options, producing(step)...)
	case "read":
		options = append(options, reading(step)...)
	case "subscribe":
		ctx = context.Background() // it lasts until it is told to leave
		options = append(options, subscribing(step)...)
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return steps[step.Do](ctx, client, step)
}

func answer(step Step) map[string]any {
	result, err := take(step)
	if err == nil {
		return map[string]any{"result": result}
	}
	code := -1
	var known *kerr.Error
	if errors.As(err, &known) {
		code = int(known.Code)
	}
	return map[string]any{"error": code, "message": err.Error()}
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		var step Step
		if err == nil {
			err = json.Unmarshal(line, &step)
		}
		if err != nil {
			panic(err)
		}
		text, err := json.Marshal(answer(step))
		if err != nil {
			panic(err)
		}
		fmt.Println(string(text))
	}
}
