// River as a peer: reads a verb a line, answers a line each (see river.ts).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

type request struct {
	Verb string            `json:"verb"`
	Args []json.RawMessage `json:"args"`
}

type reply struct {
	Warm   bool   `json:"warm,omitempty"`
	Result int    `json:"result"`
	Error  string `json:"error,omitempty"`
}

func main() {
	ctx := context.Background()
	var turn sync.Mutex
	out := json.NewEncoder(os.Stdout)
	say := func(what reply) {
		turn.Lock()
		defer turn.Unlock()
		_ = out.Encode(what)
	}
	peer, err := open(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "river:", err)
		os.Exit(1)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		result, err := answer(ctx, peer, lines.Bytes(), func() { say(reply{Warm: true}) })
		answered := reply{Result: result}
		if err != nil {
			answered.Error = err.Error()
		}
		say(answered)
	}
}

func answer(ctx context.Context, peer *peer, line []byte, onWarm func()) (int, error) {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return 0, err
	}
	read := func(values ...any) error {
		for index, value := range values {
			if err := json.Unmarshal(asked.Args[index], value); err != nil {
				return err
			}
		}
		return nil
	}
	var url string
	var count int
	switch asked.Verb {
	case "reset":
		return 0, peer.reset(ctx)
	case "load":
		if err := read(&count, &url); err != nil {
			return 0, err
		}
		return 0, peer.load(ctx, count, url)
	case "drain":
		if err := read(&count); err != nil {
			return 0, err
		}
		return 0, peer.drain(ctx, count, onWarm)
	case "create":
		var seconds float64
		if err := read(&seconds, &url); err != nil {
			return 0, err
		}
		return peer.create(ctx, seconds, url)
	case "work":
		return 0, peer.work(ctx)
	case "schedule":
		var dues []int64
		if err := read(&dues, &url); err != nil {
			return 0, err
		}
		return 0, peer.schedule(ctx, dues, url)
	}
	return 0, fmt.Errorf("no verb %q", asked.Verb)
}
