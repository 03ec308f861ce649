package server

import (
	"math"
	"slices"
	"sync"
)

// taskShelf holds the tasks of a connection in the order in which they were
// made. Places of expired ones stay empty, so that cursors stay good; those of the
// extension are in no list, and leave none.
type taskShelf struct {
	mu       sync.Mutex
	all      []*Task
	kept     int // how many places are not empty
	extended []*Task
}

func (s *taskShelf) add(t *Task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.purge()
	if s.kept+len(s.extended) >= maxTasks || !t.extended && len(s.all) >= math.MaxUint16 {
		return false
	}
	if t.extended {
		s.extended = append(s.extended, t)
		return true
	}
	s.all = append(s.all, t)
	s.kept++
	return true
}

// purge forgets tasks whose time is over.
func (s *taskShelf) purge() {
	for i, t := range s.all {
		if t != nil && t.expired() {
			s.all[i] = nil
			s.kept--
		}
	}
	s.extended = slices.DeleteFunc(s.extended, (*Task).expired)
}

// list returns the tasks that are listed, with nil for those that are gone.
func (s *taskShelf) list() []*Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.purge()
	return slices.Clone(s.all)
}

func (s *taskShelf) find(id string) *Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.purge()
	named := func(t *Task) bool { return t != nil && t.id == id }
	if i := slices.IndexFunc(s.extended, named); i >= 0 {
		return s.extended[i]
	}
	if i := slices.IndexFunc(s.all, named); i >= 0 {
		return s.all[i]
	}
	return nil
}
