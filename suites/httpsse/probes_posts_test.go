package httpsse

import (
	"net/url"
	"testing"
)

// An unknown endpoint has the form of those of two connections, and differs from both in
// each character in which they differ from each other.
func TestUnknownEndpointHasTheFormOfTheOthers(t *testing.T) {
	for _, c := range []struct{ one, other, want string }{
		{"/m?s=a1&x=1", "/m?s=b2&x=1", ""}, // it would be that of the other connection
		{"/m?s=a3&x=1", "/m?s=b2&x=1", "/m?s=b4&x=1"},
		{"/m?s=059f&x=1", "/m?s=a4c1&x=1", "/m?s=160a&x=1"},
		{"/m?s=AEFZ", "/m?s=0123", "/m?s=BFAA"},
		{"/m?s=aeyz", "/m?s=0123", "/m?s=bfza"},
		{"/m?s=gGYh", "/m?s=0123", "/m?s=hHZi"},
		{"/m?s=1-2", "/m?s=3-4", "/m?s=2-3"},
		{"/m?s=12", "/m?s=345", "/m?s=23"},
		{"/m?s=345", "/m?s=12", "/m?s=456"},
		{"/m/1/x", "/m/4/x", "/m/2/x"},
		{"/m", "/m", ""},
		{"/m?s=-", "/m?s=.", ""}, // nothing to change
		{"/m?s=1", "/m?s=2", ""},
	} {
		one, other := &url.URL{Scheme: "http", Host: "h"}, &url.URL{Scheme: "http", Host: "h"}
		one, _ = one.Parse(c.one)
		other, _ = other.Parse(c.other)
		got := unknownEndpoint(one, other)
		if (got == nil) != (c.want == "") || got != nil && got.RequestURI() != c.want {
			t.Errorf("beside %s and %s: %v, want %q", c.one, c.other, got, c.want)
		}
	}
}
