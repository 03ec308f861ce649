package wire

import (
	"slices"
	"sync"
	"time"
)

// An Ending is how a connection came to its end.
type Ending struct {
	At       time.Duration // since the start
	What     string        // "exit status 0", "signal: killed", "connection closed"
	Asked    bool          // we had closed its input or signalled it before
	Graceful bool          // it ended after its input was closed, without a signal
	After    time.Duration // from our closing its input to the end
	// Waited is how long it was given to end by itself after its input was
	// closed, until a signal made it; 0 if it needed none or was given no time.
	Waited time.Duration
}

// A Transcript records every frame of one connection in the order in which
// this side saw them: a frame of ours when it is handed to the transport, so
// before any answer to it, one of the peer when it was read. It is safe for
// concurrent use.
type Transcript struct {
	// Due is how long this side waited for answers that were due to it before
	// it went on, 0 if that is not known. It is set before anything is said.
	Due time.Duration

	mu     sync.Mutex
	start  time.Time
	frames []Frame
	parsed []Message
	ending *Ending
}

// NewTranscript starts a transcript now.
func NewTranscript() *Transcript { return &Transcript{start: time.Now()} }

// TranscriptOf returns a transcript of frames recorded earlier.
func TranscriptOf(frames []Frame) *Transcript {
	t := NewTranscript()
	for _, f := range frames {
		t.frames = append(t.frames, f)
		t.parsed = append(t.parsed, f.word())
	}
	return t
}

// Part returns a transcript of the first head frames of this one and of those
// from index from on, without how it ended.
func (t *Transcript) Part(head, from int) *Transcript {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &Transcript{
		start:  t.start,
		frames: slices.Concat(t.frames[:head], t.frames[from:]),
		parsed: slices.Concat(t.parsed[:head], t.parsed[from:]),
	}
}

// Add records a frame, stamps its time, and returns its index and message.
func (t *Transcript) Add(f Frame) (int, Message) {
	m := f.word()
	t.mu.Lock()
	defer t.mu.Unlock()
	f.At = time.Since(t.start)
	t.frames = append(t.frames, f)
	t.parsed = append(t.parsed, m)
	return len(t.frames) - 1, m
}

// Len returns the number of frames so far.
func (t *Transcript) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.frames)
}

// Frames returns the frames from index on, at most up to the present.
func (t *Transcript) Frames(from int) []Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.frames[min(from, len(t.frames)):])
}

// Entries returns all frames that carry a message, with it.
func (t *Transcript) Entries() []Entry { return t.EntriesFrom(0) }

// EntriesFrom does the same from an index on. Frames that belong to the
// transport alone are left out; AllFrom has them.
func (t *Transcript) EntriesFrom(from int) []Entry {
	return slices.DeleteFunc(t.AllFrom(from), func(e Entry) bool { return e.Wordless() })
}

// AllFrom returns all frames from an index on; those that belong to the
// transport alone have the zero message.
func (t *Transcript) AllFrom(from int) []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	if from >= len(t.frames) {
		return nil
	}
	out := make([]Entry, 0, len(t.frames)-from)
	for i := from; i < len(t.frames); i++ {
		out = append(out, Entry{Index: i, Frame: t.frames[i], Message: t.parsed[i]})
	}
	return out
}

// An Entry is one frame of a transcript with its message.
type Entry struct {
	Index int
	Frame
	Message Message
}

// End records how the connection ended; the first call counts.
func (t *Transcript) End(e Ending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ending == nil {
		e.At = time.Since(t.start)
		t.ending = &e
	}
}

// Ending returns how the connection ended, or nil while it is open.
func (t *Transcript) Ending() *Ending {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ending
}

// Elapsed returns the time since the start.
func (t *Transcript) Elapsed() time.Duration { return time.Since(t.start) }
