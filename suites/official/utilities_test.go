package official

import (
	"testing"

	"github.com/tidwall/gjson"
)

func TestFindsTextOfLogMessage(t *testing.T) {
	for data, want := range map[string]bool{
		`"start"`: true, `"stop"`: false, `{"a":"stop","text":"start"}`: true, `{"text":"stop"}`: false, `{}`: false,
		`["stop","start"]`: true, `7`: false, `{"text":{"text":"start"}}`: false,
	} {
		if got := hasLogText(gjson.Parse(data), "start"); got != want {
			t.Errorf("%s: %t", data, got)
		}
	}
}
