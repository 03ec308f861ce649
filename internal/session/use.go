package session

// A use is the part of a session that one user, such as a check, sends messages in.
type use struct {
	from int // first frame
	by   string
}

// NoteUser records who uses the session from now on.
func (s *Session) NoteUser(name string) {
	s.usesMutex.Lock()
	defer s.usesMutex.Unlock()
	s.uses = append(s.uses, use{s.Len(), name})
}

// UserAt returns who used the session when a frame was sent; "" if that is not known.
func (s *Session) UserAt(frame int) (name string) {
	s.usesMutex.Lock()
	defer s.usesMutex.Unlock()
	for _, u := range s.uses {
		if u.from <= frame {
			name = u.by
		}
	}
	return name
}
