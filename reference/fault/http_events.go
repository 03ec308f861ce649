package fault

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/reference/server"
)

// streamEventFaults are those of what events hold.
func streamEventFaults() []Fault {
	data := func(name, does string, fits func(f server.Frame) bool, write func(next server.Eventer, e server.Event) []byte) Fault {
		return Fault{
			Name: name, Does: does, In: withStreams(),
			Breaks:   []string{"streamable-http-sse-data-json"},
			CaughtBy: []string{"streamable-http.event.data"},
			Apply:    onMessage(fits, write),
		}
	}
	id := func(name, does string, of func(e server.Event) string) Fault {
		return Fault{
			Name: name, Does: does, In: inSession(),
			Breaks:   []string{"streamable-http-event-id-unique"},
			CaughtBy: []string{"streamable-http.event.id.unique"},
			Apply:    onEventID(of),
		}
	}
	priming := func(name, does string, apply apply) Fault {
		return Fault{
			Name: name, Does: does, In: polling(),
			Breaks:   []string{"streamable-http-sse-priming-event"},
			CaughtBy: []string{"streamable-http.event.priming"},
			Apply:    apply,
		}
	}
	return []Fault{
		data("log-in-prose", "writes log messages into events with a word before them", notifies(logged), func(next server.Eventer, e server.Event) []byte {
			e.Data = append([]byte("log: "), e.Data...)
			return next(e)
		}),
		data("log-twice-in-an-event", "writes log messages twice into one event", notifies(logged), func(next server.Eventer, e server.Event) []byte {
			e.Data = bytes.Join([][]byte{e.Data, e.Data}, []byte("\n"))
			return next(e)
		}),
		data("log-without-field", "writes log messages as lines of a stream without the name of a field", notifies(logged), func(_ server.Eventer, e server.Event) []byte {
			return append(bytes.Clone(e.Data), "\n\n"...)
		}),
		data("log-cut-off", "cuts log messages off in the midst", notifies(logged), func(next server.Eventer, e server.Event) []byte {
			e.Data = e.Data[:len(e.Data)/2]
			return next(e)
		}),
		data("log-over-several-lines", "writes log messages over several lines, of which the first alone names its field", notifies(logged), func(next server.Eventer, e server.Event) []byte {
			written := bytes.Replace(next(e), []byte(`"params":`), []byte("\n\"params\":"), 1)
			return written
		}),
		id("event-ids-of-each-stream", "counts events on each stream anew", func(e server.Event) string {
			return "e" + place(e)
		}),
		id("event-ids-of-content", "makes the id of an event of what it holds", func(e server.Event) string {
			return fmt.Sprintf("%x", sha256.Sum256(e.Data))
		}),
		id("event-ids-of-two", "gives two messages after one another one id", func(e server.Event) string {
			label, _, _ := strings.Cut(e.ID, "-")
			n, _ := strconv.Atoi(place(e))
			return fmt.Sprintf("%s-%d", label, n+n%2)
		}),
		priming("stream-not-primed", "begins streams without an event to come back to", onPriming(unwritten)),
		priming("primed-without-id", "begins streams with an empty event that has no id", onPriming(func(next server.Eventer, e server.Event) []byte {
			return []byte("data: \n\n")
		})),
		priming("primed-without-data", "begins streams with an event that has an id and no data field", onPriming(func(_ server.Eventer, e server.Event) []byte {
			return fmt.Appendf(nil, "id: %s\n\n", e.ID)
		})),
		priming("primed-late", "sends the event to come back to behind the first message", primedLate),
	}
}

// place is that of an event in its stream.
func place(e server.Event) string {
	_, n, _ := strings.Cut(e.ID, "-")
	return n
}

// primedLate keeps the event that primes a stream until a message was written.
func primedLate(o *server.Options) {
	var mu sync.Mutex
	kept := map[*server.Stream][]byte{}
	all(onPriming(func(next server.Eventer, e server.Event) []byte {
		mu.Lock()
		defer mu.Unlock()
		kept[e.Stream] = next(e)
		return nil
	}), onMessage(func(server.Frame) bool { return true }, func(next server.Eventer, e server.Event) []byte {
		mu.Lock()
		defer mu.Unlock()
		late := kept[e.Stream]
		delete(kept, e.Stream)
		return append(next(e), late...)
	}))(o)
}
