package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

// paginate returns the page of a list that the request asks for
// (server/utilities/pagination). The list has a fixed order, and a cursor
// names a place in it, so that it stays good while items come and go and on
// any other connection.
func paginate[T any](r *Request, member string, items []T, offered func(T) bool, show func(T) Object) (Object, *Error) {
	return paginateAs(r, member, member, items, offered, show)
}

// paginateAs is paginate for one of several lists under the same member; list
// tells them apart.
func paginateAs[T any](r *Request, list, member string, items []T, offered func(T) bool, show func(T) Object) (Object, *Error) {
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
		case !offered(items[i]):
		case len(page) == size:
			return Object{member: page, "nextCursor": cursor(list, i)}, nil
		default:
			page = append(page, show(items[i]))
		}
	}
	return Object{member: page}, nil
}

// cursor names a place in a list. The digest keeps places apart that the
// server did not give out; it is no secret.
func cursor(list string, at int) string {
	b := binary.BigEndian.AppendUint16(nil, uint16(at))
	return base64.RawURLEncoding.EncodeToString(append(b, cursorDigest(list, at)...))
}

func cursorPosition(list, s string) (at int, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) < 2 {
		return 0, false
	}
	at = int(binary.BigEndian.Uint16(b))
	return at, cursor(list, at) == s
}

func cursorDigest(list string, at int) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "place %d of %s", at, list))
	return sum[:7]
}
