package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

// paginate returns the page of a list that the request names
// (server/utilities/pagination). The list has a fixed order and a cursor names a
// position in it, so that a cursor stays valid while items are added and removed,
// and on any other connection.
func paginate[T any](
	r *Request, member string, items []T, isOffered func(T) bool, entry func(T) Object,
) (any, *Error) {
	return paginateAs(r, member, member, items, isOffered, entry)
}

// paginateAs is paginate for one of several lists under the same member; list
// distinguishes their cursors.
func paginateAs[T any](
	r *Request, list, member string, items []T, isOffered func(T) bool, entry func(T) Object,
) (any, *Error) {
	from := 0
	if v, ok := r.Params["cursor"]; ok {
		s, ok := v.(string)
		if !ok {
			return nil, invalidParams("The cursor must be a string")
		}
		if from, ok = cursorPosition(list, s); !ok || from > len(items) {
			return nil, invalidParams("The cursor is not one of this list")
		}
	}
	size := r.conn.features.PageSize
	if n := r.conn.features.toolPageSize; n > 0 && member == "tools" {
		size = n
	}
	page := []any{}
	for i := from; i < len(items); i++ {
		switch {
		case !isOffered(items[i]):
		case len(page) == size:
			return Object{member: page, "nextCursor": cursor(list, i)}, nil
		default:
			page = append(page, entry(items[i]))
		}
	}
	return Object{member: page}, nil
}

// cursor names a position in a list. The digest makes the server refuse cursors
// that it did not issue; it is no secret.
func cursor(list string, position int) string {
	b := binary.BigEndian.AppendUint16(nil, uint16(position))
	return base64.RawURLEncoding.EncodeToString(append(b, cursorDigest(list, position)...))
}

func cursorPosition(list, s string) (position int, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) < 2 {
		return 0, false
	}
	position = int(binary.BigEndian.Uint16(b))
	return position, cursor(list, position) == s
}

func cursorDigest(list string, position int) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "place %d of %s", position, list))
	return sum[:7]
}
