package schema

import "testing"

func TestPatternsFollowECMA262(t *testing.T) {
	for _, c := range []struct{ pattern, fits, misfits string }{
		{`^\/api\/v\d+$`, "/api/v2", "/api/vx"},
		{`^[\w-]+\.(?:png|jpe?g)$`, "a-b.jpeg", "a b.png"},
		{`^\u0041\x42\cJ$`, "AB\n", "AB"},
		{`^\u{1F600}$`, "😀", "x"},
		{`^[^]+$`, "a\nb", ""},
		{`^a[]?b$`, "ab", "a]b"},
		{`^[[\]]$`, "[", "x"},
		{`^.$`, "x", "\r"},
		{`^(?<year>[0-9]{4})$`, "2025", "25"},
		{`^\p{Uppercase_Letter}\p{L}*$`, "Éa", "éa"},
		{`^\p{Script=Greek}+$`, "αβγ", "abc"},
		{`^{.*}$`, "{x}", "x"},
		{`^\0$`, "\x00", "0"},
		{`^[\u00e0-\u00ff]$`, "é", "e"},
		{`b`, "abc", "ac"},
	} {
		p, err := compilePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if p.String() != c.pattern || !p.MatchString(c.fits) || p.MatchString(c.misfits) {
			t.Errorf("%s became %s: matches %q %v, %q %v", c.pattern, p.re, c.fits, p.MatchString(c.fits), c.misfits,
				p.MatchString(c.misfits))
		}
	}
	for _, beyond := range []string{`^(?=x)y`, `(?<!a)b`, `(a)\1`, `^.{1,5000}$`, `(`} {
		if p, err := compilePattern(beyond); err == nil {
			t.Errorf("%s became %s", beyond, p.re)
		}
	}
}
