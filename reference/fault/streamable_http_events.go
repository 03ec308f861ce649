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

// streamEvents are faults in what events hold.
func streamEvents() []Fault {
	log := func(name, does string, write func(next server.EventEncoder, e server.Event) []byte) Fault {
		return newFault(name, does, "streamable-http.event.data", onMessageEvent(isNotification(logMethod), write))
	}
	return []Fault{
		log("log-with-text-prefix", "writes log messages into events behind a text",
			func(next server.EventEncoder, e server.Event) []byte {
				e.Data = append([]byte("log: "), e.Data...)
				return next(e)
			}),
		log("log-twice-in-an-event", "writes log messages twice into one event",
			func(next server.EventEncoder, e server.Event) []byte {
				e.Data = bytes.Join([][]byte{e.Data, e.Data}, []byte("\n"))
				return next(e)
			}),
		log("log-without-field", "writes log messages into streams without the name of a field",
			func(_ server.EventEncoder, e server.Event) []byte { return append(bytes.Clone(e.Data), "\n\n"...) }),
		log("log-cut-off", "cuts log messages off in the middle",
			func(next server.EventEncoder, e server.Event) []byte {
				e.Data = e.Data[:len(e.Data)/2]
				return next(e)
			}),
		log("log-over-several-lines", "writes log messages over several lines, and names the field only in the first",
			func(next server.EventEncoder, e server.Event) []byte {
				return bytes.Replace(next(e), []byte(`"params":`), []byte("\n\"params\":"), 1)
			}),
	}
}

// eventIDs are faults of the ids of events.
func eventIDs() []Fault {
	id := func(name, does string, idOf func(e server.Event) string) Fault {
		hasID := func(e server.Event) bool { return e.ID != "" }
		return newFault(name, does, "streamable-http.event.id.unique",
			onEventWhen(hasID, func(next server.EventEncoder, e server.Event) []byte {
				e.ID = idOf(e)
				return next(e)
			}))
	}
	return []Fault{
		id("event-ids-of-each-stream", "counts the events of each stream from the same number",
			func(e server.Event) string {
				return "e" + placeOf(e)
			}),
		id("event-ids-of-content", "makes the id of an event of its data", func(e server.Event) string {
			return fmt.Sprintf("%x", sha256.Sum256(e.Data))
		}),
		id("event-ids-of-two", "gives two messages in a row the same id", func(e server.Event) string {
			label, _, _ := strings.Cut(e.ID, "-")
			n, _ := strconv.Atoi(placeOf(e))
			return fmt.Sprintf("%s-%d", label, n+n%2)
		}),
	}
}

// primingEvents are faults of the events that streams begin with.
func primingEvents() []Fault {
	priming := func(name, does string, apply apply) Fault {
		return newFault(name, does, "streamable-http.event.priming", apply)
	}
	return []Fault{
		priming("stream-not-primed", "begins streams without a priming event", onPrimingEvent(writeNoEvent)),
		priming("primed-without-id", "begins streams with an empty event without an id", onPrimingEvent(
			func(server.EventEncoder, server.Event) []byte { return []byte("data: \n\n") })),
		priming("primed-without-data", "begins streams with an event without a data field", onPrimingEvent(
			func(_ server.EventEncoder, e server.Event) []byte { return fmt.Appendf(nil, "id: %s\n\n", e.ID) })),
		priming("primed-late", "sends the priming event after the first message", primeLate),
	}
}

// placeOf returns the place of an event in its stream.
func placeOf(e server.Event) string {
	_, n, _ := strings.Cut(e.ID, "-")
	return n
}

// primeLate keeps the event that primes a stream until a message was written.
func primeLate(o *server.Options) {
	var mu sync.Mutex
	kept := map[*server.Stream][]byte{}
	combine(onPrimingEvent(func(next server.EventEncoder, e server.Event) []byte {
		mu.Lock()
		defer mu.Unlock()
		kept[e.Stream] = next(e)
		return nil
	}), onMessageEvent(anyFrame, func(next server.EventEncoder, e server.Event) []byte {
		mu.Lock()
		defer mu.Unlock()
		late := kept[e.Stream]
		delete(kept, e.Stream)
		return append(next(e), late...)
	}))(o)
}
