package posting

import "testing"

func TestStatusesThatRefuse(t *testing.T) {
	for status, want := range map[int][2]bool{ // a client error, a refusal
		200: {}, 399: {}, 400: {true, true}, 401: {false, true}, 403: {false, true}, 404: {true, true},
		429: {}, 499: {true, true}, 500: {}, 503: {},
	} {
		if got := [2]bool{IsClientError(status), IsRefusal(status)}; got != want {
			t.Errorf("%d is a client error and a refusal: %v, want %v", status, got, want)
		}
	}
}
