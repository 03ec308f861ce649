package check

import (
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A result that names state of the server is kept while its session is open.
func TestOnceInSessionComputesAgainAfterTheSession(t *testing.T) {
	env := newEchoEnv(t, spec.V2025_11_25, shortDeadlines())
	key := NewKey[int64]("instance")
	var got []int64
	probe := Check{ID: "a.b", Probe: func(t *T) {
		got = append(got, OnceInSession(t, key, func() int64 {
			return t.Request("ping", nil).Result().Get("instance").Int()
		}))
	}}
	for i := range 3 {
		if i == 2 {
			shared, err := env.Pool.Shared(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			shared.Close()
		}
		Run(t.Context(), probe, env)
	}
	if !slices.Equal(got, []int64{1, 1, 2}) {
		t.Errorf("the results are of the instances %v, want 1, 1 and 2", got)
	}
}
