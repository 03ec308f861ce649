package server

import "testing"

// An answer to a question from before a change is not kept, whenever it comes.
func TestDropsRootsFromBeforeChange(t *testing.T) {
	s := newSession()
	if s.forgetRoots() {
		t.Error("roots that were never asked for were listed")
	}
	before := s.beginRootsRequest()
	if s.keepRoots(Object{"roots": "first"}, before); s.knownRoots()["roots"] != "first" {
		t.Errorf("it keeps %v", s.knownRoots())
	}
	if !s.forgetRoots() || s.knownRoots() != nil {
		t.Errorf("after a change it keeps %v", s.knownRoots())
	}
	after := s.beginRootsRequest()
	if s.keepRoots(Object{"roots": "old"}, before); s.knownRoots() != nil {
		t.Errorf("it keeps %v from before the change", s.knownRoots())
	}
	s.keepRoots(Object{"roots": "new"}, after)
	if s.keepRoots(Object{"roots": "old"}, before); s.knownRoots()["roots"] != "new" {
		t.Errorf("it keeps %v", s.knownRoots())
	}
	for range 2 {
		if !s.forgetRoots() {
			t.Error("two changes in a row are not both answered by asking again")
		}
	}
}
