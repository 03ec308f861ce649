package server

import (
	"math"
	"slices"
	"sync"
)

// A taskStore holds the tasks of a connection in the order of their creation. The
// positions of expired tasks stay empty, so that cursors stay valid. Tasks of the
// extension are in no list and leave no position.
type taskStore struct {
	mu          sync.Mutex
	listed      []*task
	listedCount int // of the positions that are not empty
	extended    []*task
}

// add stores a task and reports whether there was room for it.
func (s *taskStore) add(t *task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeExpired()
	if s.listedCount+len(s.extended) >= maxTasks || !t.extended && len(s.listed) >= math.MaxUint16 {
		return false
	}
	if t.extended {
		s.extended = append(s.extended, t)
		return true
	}
	s.listed = append(s.listed, t)
	s.listedCount++
	return true
}

// removeExpired removes the tasks that have expired. s.mu is held.
func (s *taskStore) removeExpired() {
	for i, t := range s.listed {
		if t != nil && t.isExpired() {
			s.listed[i] = nil
			s.listedCount--
		}
	}
	s.extended = slices.DeleteFunc(s.extended, (*task).isExpired)
}

// list returns the listed tasks, with nil for those that have expired.
func (s *taskStore) list() []*task {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeExpired()
	return slices.Clone(s.listed)
}

// find returns the task of an id, or nil.
func (s *taskStore) find(id string) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeExpired()
	hasID := func(t *task) bool { return t != nil && t.id == id }
	for _, tasks := range [][]*task{s.extended, s.listed} {
		if i := slices.IndexFunc(tasks, hasID); i >= 0 {
			return tasks[i]
		}
	}
	return nil
}
