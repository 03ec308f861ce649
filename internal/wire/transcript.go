package wire

import (
	"slices"
	"sync"
	"time"
)

// An Ending says how a connection ended.
type Ending struct {
	At           time.Duration // since the start
	Reason       string        // e.g. "exit status 0", "signal: killed", "connection closed"
	Requested    bool          // this side had closed the peer's input or signalled the peer before
	Graceful     bool          // the peer ended after its input was closed, without a signal
	ShutdownTime time.Duration // from the closing of the peer's input to the end
	// WaitedBeforeSignal is the time between the closing of the peer's input and the
	// signal that ended the peer; 0 if no signal was sent, or one without a wait.
	WaitedBeforeSignal time.Duration
	// Hurried reports that the peer got less time than usual before the signal, since it
	// had not answered a request.
	Hurried bool
}

// A Transcript records every frame of one connection in the order in which this
// side saw them. This side records a frame of its own before it hands the frame to
// the transport, so that no answer can precede it, and a frame of the peer when it
// has read it. A Transcript is safe for concurrent use.
type Transcript struct {
	// AnswerTimeout is how long this side waits for an answer to a request of its own
	// before it answers the next request of the peer; 0 if that is not known. It is
	// set before the first frame.
	AnswerTimeout time.Duration

	mu       sync.Mutex
	start    time.Time
	frames   []Frame
	messages []Message
	foreign  map[int]bool // frames with a response to a request of another session
	ending   *Ending
}

// NewTranscript starts a transcript now.
func NewTranscript() *Transcript { return &Transcript{start: time.Now()} }

// TranscriptOf returns a transcript of frames that were recorded before.
func TranscriptOf(frames []Frame) *Transcript {
	t := NewTranscript()
	for _, f := range frames {
		t.frames = append(t.frames, f)
		t.messages = append(t.messages, f.parsedMessage())
	}
	return t
}

// Excerpt returns a transcript of the first head frames and of the frames from index
// from on, without the ending.
func (t *Transcript) Excerpt(head, from int) *Transcript {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &Transcript{
		start:    t.start,
		frames:   slices.Concat(t.frames[:head], t.frames[from:]),
		messages: slices.Concat(t.messages[:head], t.messages[from:]),
	}
}

// Add records a frame, sets its time, and returns its index and message.
func (t *Transcript) Add(f Frame) (int, Message) {
	m := f.parsedMessage()
	t.mu.Lock()
	defer t.mu.Unlock()
	f.At = time.Since(t.start)
	t.frames = append(t.frames, f)
	t.messages = append(t.messages, m)
	return len(t.frames) - 1, m
}

// Drop drops the bytes of all frames so far. Their number and times stay.
func (t *Transcript) Drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, f := range t.frames {
		t.frames[i] = Frame{From: f.From, At: f.At, Note: "dropped: the session was too large to be kept"}
		t.messages[i] = Message{}
	}
}

// Len returns the number of frames so far.
func (t *Transcript) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.frames)
}

// Frames returns the frames from an index on.
func (t *Transcript) Frames(from int) []Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.frames[min(from, len(t.frames)):])
}

// Entries returns all frames that carry a message.
func (t *Transcript) Entries() []Entry { return t.EntriesFrom(0) }

// EntriesFrom returns the frames from an index on that carry a message.
func (t *Transcript) EntriesFrom(from int) []Entry {
	return slices.DeleteFunc(t.AllEntriesFrom(from), func(e Entry) bool { return e.IsTransportOnly() })
}

// AllEntriesFrom returns all frames from an index on. A frame that carries no message
// has the zero Message.
func (t *Transcript) AllEntriesFrom(from int) []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	if from >= len(t.frames) {
		return nil
	}
	out := make([]Entry, 0, len(t.frames)-from)
	for i := from; i < len(t.frames); i++ {
		out = append(out, Entry{Index: i, Frame: t.frames[i], Message: t.messages[i]})
	}
	return out
}

// An Entry is one frame of a transcript with its message.
type Entry struct {
	Index int // of the frame in the transcript; -1 if it is not known
	Frame
	Message Message // the zero Message if the frame carries none
}

// NewEntry returns the entry of a frame, with its message.
func NewEntry(index int, f Frame) Entry {
	return Entry{Index: index, Frame: f, Message: f.parsedMessage()}
}

// End records how the connection ended. Only the first call has an effect.
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

// MarkForeign notes that a frame has a response to a request of another session.
func (t *Transcript) MarkForeign(index int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.foreign == nil {
		t.foreign = map[int]bool{}
	}
	t.foreign[index] = true
}

// IsForeign reports whether a frame has a response to a request of another session.
func (t *Transcript) IsForeign(index int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.foreign[index]
}

// Elapsed returns the time since the start.
func (t *Transcript) Elapsed() time.Duration { return time.Since(t.start) }

// RequestOf returns the index of the request that a response answers, or that of the frame
// itself where none does.
func (t *Transcript) RequestOf(index int) int {
	e, _ := t.Entry(index)
	if !e.Message.IsResponse() {
		return index
	}
	for before := range t.Walk(0) {
		if before.Index < index && before.From != e.From && before.Message.ID().Equal(e.Message.ID()) {
			return before.Index
		}
	}
	return index
}
