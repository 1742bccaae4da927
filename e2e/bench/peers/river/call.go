package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// call is what every contender stores and makes: the same bytes as those of `call.ts`.
type call struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

func (call) Kind() string { return "call" }

const callBytes = 1_000

var filler = strings.Repeat("Lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore ", 12)

func makeCall(index int, url string) (call, error) {
	body := func(note string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"order":%d,"placedAtMs":%d,"note":"%s"}`, index, 1_764_432_000_000+index, note))
	}
	made := call{
		URL:     url,
		Method:  http.MethodPost,
		Headers: map[string]string{"content-type": "application/json", "x-tenant": fmt.Sprintf("t%d", index%50)},
		Body:    body(""),
	}
	bare, err := json.Marshal(made)
	if err != nil {
		return made, err
	}
	made.Body = body(filler[:max(0, callBytes-len(bare))])
	return made, nil
}

// dueAt tells the target the instant, as the other peers do.
func (c call) dueAt(instant time.Time) call {
	c.Headers["meridian-due-at"] = instant.UTC().Format("2006-01-02T15:04:05.000Z")
	return c
}

var client = &http.Client{Transport: &http.Transport{
	MaxConnsPerHost:     64,
	MaxIdleConnsPerHost: 64,
	DisableCompression:  true,
}}

// perform makes the call over at most 64 kept-alive sockets, as the executor of the other peers.
func perform(c call) error {
	request, err := http.NewRequest(c.Method, c.URL, bytes.NewReader(c.Body))
	if err != nil {
		return err
	}
	for name, value := range c.Headers {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
