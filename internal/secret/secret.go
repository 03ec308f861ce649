// Package secret hides values in texts that others may read: tokens, and what a user
// gives for header fields, environment variables and in URLs.
package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Mask stands where a secret was.
const Mask = "…"

// shortest is the least length of a value that is hidden: without shorter texts a
// report would not be readable.
const shortest = 4

// fragment is the length of the parts of a secret that are hidden too, since a peer may
// send the secret in pieces.
const fragment = 10

// A Set is the secrets of a run. It is safe for concurrent use. A nil Set hides nothing.
type Set struct {
	mu    sync.Mutex
	texts []string // the values in all encodings, longest first
	parts map[string]bool
}

// Add adds a value. Values that are short, a number or true or false are not hidden.
func (s *Set) Add(value string) {
	value = strings.TrimSpace(value)
	if s == nil || len(value) < shortest || isCommon(value) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range encodings(value) {
		if len(text) >= shortest && !slices.Contains(s.texts, text) {
			s.texts = append(s.texts, text)
		}
	}
	slices.SortStableFunc(s.texts, func(a, b string) int { return len(b) - len(a) })
}

// AddToken adds a value whose parts are secret too: one that nobody guesses.
func (s *Set) AddToken(value string) {
	s.Add(value)
	if s == nil || isCommon(value) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts == nil {
		s.parts = map[string]bool{}
	}
	for i := 0; i+fragment <= len(value); i++ {
		s.parts[value[i:i+fragment]] = true
	}
}

// isCommon reports whether a value says nothing of its owner.
func isCommon(value string) bool {
	return value == "true" || value == "false" || len(value) < 8 && strings.Trim(value, "0123456789") == ""
}

// encodings returns a value as a peer may repeat it.
func encodings(value string) []string {
	quoted, err := json.Marshal(value)
	if err != nil {
		quoted = []byte(`""`)
	}
	out := []string{
		value, url.QueryEscape(value), url.PathEscape(value), html.EscapeString(value),
		strings.Trim(string(quoted), `"`), strings.Trim(fmt.Sprintf("%q", value), `"`),
		hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))),
	}
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		out = append(out, e.EncodeToString([]byte(value)))
		for before := range 3 { // within a longer text, as in "user:password"
			if inner := encodedWithin(e, value, before); len(inner) >= fragment {
				out = append(out, inner)
			}
		}
	}
	return out
}

// encodedWithin returns the characters of base64 that a value alone decides, if so many
// bytes precede it in a group of three.
func encodedWithin(e *base64.Encoding, value string, before int) string {
	all := e.EncodeToString([]byte(strings.Repeat("\x00", before) + value))
	from := (before*8 + 5) / 6
	to := (before + len(value)) * 8 / 6
	return all[min(from, to):to]
}

// Hide returns a text without the secrets in it.
func (s *Set) Hide(text string) string {
	if s == nil || text == "" {
		return text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range s.texts {
		text = strings.ReplaceAll(text, secret, Mask)
	}
	return s.hideParts(text)
}

// hideParts returns a text without the parts of secrets in it.
func (s *Set) hideParts(text string) string {
	if len(s.parts) == 0 {
		return text
	}
	var out strings.Builder
	done := 0
	for i := 0; i+fragment <= len(text); i++ {
		if !s.parts[text[i:i+fragment]] {
			continue
		}
		end := i + fragment
		for end < len(text) && s.parts[text[end-fragment+1:end+1]] {
			end++
		}
		out.WriteString(text[done:i])
		out.WriteString(Mask)
		done, i = end, end-1
	}
	out.WriteString(text[done:])
	return out.String()
}

// HideIn replaces the secrets in all texts that a pointer leads to: strings, bytes and
// the values of fields, elements and maps.
func (s *Set) HideIn(pointer any) {
	if s != nil {
		s.walk(reflect.ValueOf(pointer))
	}
}

func (s *Set) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			s.walk(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() && v.CanSet() {
			inner := reflect.New(v.Elem().Type()).Elem()
			inner.Set(v.Elem())
			s.walk(inner)
			v.Set(inner)
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString(s.Hide(v.String()))
		}
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
			if v.CanSet() && v.Len() > 0 {
				v.SetBytes([]byte(s.Hide(string(v.Bytes()))))
			}
			return
		}
		for i := range v.Len() {
			s.walk(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				s.walk(v.Field(i))
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			s.walk(value)
			v.SetMapIndex(key, value)
		}
	}
}
