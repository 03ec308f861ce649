package session

import (
	"fmt"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// GivenUpError is the error of a message that is not sent, because the server ended or
// went silent when messages of the same kind were sent before.
type GivenUpError struct{ Method string }

func (e *GivenUpError) Error() string {
	return fmt.Sprintf("%s was not sent again, since the server ended on it or did not answer it before", e.Method)
}

// stimulusKey returns a text that messages of the client share if they have the same
// method and equal params, whatever their id and _meta.
func stimulusKey(m wire.Message) string {
	params, ok := m.Params().Value().(map[string]any)
	if !ok {
		return m.Method()
	}
	delete(params, "_meta")
	return m.Method() + " " + string(wire.Encode(params))
}

// maxKeysOfMethod is how many different messages of one method are given up before all
// messages of the method are.
const maxKeysOfMethod = 3

// A giveUpList holds the messages that are not sent again at a revision.
type giveUpList struct {
	mu       sync.Mutex
	keys     map[string]bool
	methods  map[string]int // number of keys
	silences map[string]int // how often the server went silent on messages of a method
}

// add gives up messages like m.
func (g *giveUpList) add(m wire.Message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.keys == nil {
		g.keys, g.methods = map[string]bool{}, map[string]int{}
	}
	if key := stimulusKey(m); !g.keys[key] {
		g.keys[key] = true
		g.methods[m.Method()]++
	}
}

// addSilence gives up a message like m, on which the server went silent, and at the second
// one of a method all messages of the method: each costs the time for an answer.
func (g *giveUpList) addSilence(m wire.Message) {
	g.add(m)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.silences == nil {
		g.silences = map[string]int{}
	}
	if g.silences[m.Method()]++; g.silences[m.Method()] > 1 {
		g.methods[m.Method()] = maxKeysOfMethod
	}
}

// silenceCount returns how often the server went silent.
func (g *giveUpList) silenceCount() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, often := range g.silences {
		n += often
	}
	return n
}

// check returns a GivenUpError if a message is not to be sent.
func (g *giveUpList) check(raw []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.keys) == 0 {
		return nil
	}
	m := wire.Parse(raw)
	if g.methods[m.Method()] >= maxKeysOfMethod || g.keys[stimulusKey(m)] {
		return &GivenUpError{Method: m.Method()}
	}
	return nil
}
