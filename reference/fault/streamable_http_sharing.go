package fault

import (
	"bytes"
	"net/http"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// reportToAllSessions writes the progress on streams of POSTs to the streams of GETs
// of other sessions as well; both of clients without capabilities.
func reportToAllSessions(o *server.Options) {
	onHTTP(func(next http.Handler) http.Handler {
		s := &sharedStreams{bare: map[string]bool{}, streams: map[string]http.ResponseWriter{}}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m, _ := posted(r)
			id := r.Header.Get(sessionField)
			switch {
			case isBareInitialize(m):
				a := answerOf(next, r)
				s.add(a.header.Get(sessionField))
				a.send(w)
			case s.isBare(id) && isGet(r):
				s.open(id, w)
				defer s.close(id)
				next.ServeHTTP(&sharedWriter{ResponseWriter: w, mu: &s.mu}, r)
			case s.isBare(id) && m.Kind == wire.Request:
				next.ServeHTTP(&sharedWriter{ResponseWriter: w, mu: &s.mu, copyTo: func(b []byte) {
					s.write(id, b)
				}}, r)
			default:
				next.ServeHTTP(w, r)
			}
		})
	})(o)
}

// sharedStreams are the sessions of clients without capabilities, and their streams
// of GETs.
type sharedStreams struct {
	mu      sync.Mutex
	bare    map[string]bool
	streams map[string]http.ResponseWriter
}

func (s *sharedStreams) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bare[id] = true
}

func (s *sharedStreams) isBare(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bare[id]
}

func (s *sharedStreams) open(id string, w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[id] = w
}

func (s *sharedStreams) close(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, id)
}

// write writes progress of one session to the streams of the others. The caller
// holds the mutex.
func (s *sharedStreams) write(from string, b []byte) {
	if !bytes.Contains(b, []byte(progressMethod)) {
		return
	}
	for id, w := range s.streams {
		if id != from {
			writeTo(w, b)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// A sharedWriter is a stream that others write to as well, one at a time; copyTo gets
// what is written.
type sharedWriter struct {
	http.ResponseWriter
	mu     *sync.Mutex
	copyTo func(b []byte)
}

func (w *sharedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.copyTo != nil {
		w.copyTo(b)
	}
	return w.ResponseWriter.Write(b)
}

func (w *sharedWriter) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *sharedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
