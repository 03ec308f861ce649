package wire

import "iter"

// Walk iterates over the frames from an index on that carry a message. Frames that
// are added meanwhile are left out.
func (t *Transcript) Walk(from int) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for e := range t.WalkAll(from) {
			if !e.IsTransportOnly() && !yield(e) {
				return
			}
		}
	}
}

// WalkAll iterates over all frames from an index on. A frame that carries no message
// has the zero Message. Frames that are added meanwhile are left out.
func (t *Transcript) WalkAll(from int) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		t.mu.Lock()
		frames, messages := t.frames, t.messages // elements are never changed
		t.mu.Unlock()
		for i := from; i < len(frames); i++ {
			if !yield(Entry{Index: i, Frame: frames[i], Message: messages[i]}) {
				return
			}
		}
	}
}

// Entry returns the frame at an index; ok is false if there is none.
func (t *Transcript) Entry(at int) (e Entry, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at < 0 || at >= len(t.frames) {
		return Entry{}, false
	}
	return Entry{Index: at, Frame: t.frames[at], Message: t.messages[at]}, true
}
