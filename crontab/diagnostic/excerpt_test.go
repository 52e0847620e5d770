package diagnostic

import (
	"strings"
	"testing"
)

func TestExcerptShowsPlace(t *testing.T) {
	long := strings.Repeat("x", 300)
	tests := []struct {
		name, text           string
		line, column, length int
		want                 string
	}{
		{"first line", "61 * * * * x\n", 1, 1, 2, "61 * * * * x\n^^\n"},
		{"third line", "a\nb\n0 24 * * * x\n", 3, 3, 2, "0 24 * * * x\n  ^^\n"},
		{"length 0 is one caret", "abc\n", 1, 2, 0, "abc\n ^\n"},
		{"tabs are expanded", "0\t24 * * * x\n", 1, 3, 2, "0       24 * * * x\n        ^^\n"},
		{"control bytes are visible", "a\x01b\x7f\n", 1, 3, 1, "a^Ab^?\n   ^\n"},
		{"caret covers a control byte", "a\x00b\n", 1, 2, 1, "a^@b\n ^^\n"},
		{"no UTF-8", "\xff!\n", 1, 2, 1, "\\xff!\n    ^\n"},
		{"UTF-8 is one column", "é!\n", 1, 3, 1, "é!\n ^\n"},
		{"unprintable UTF-8", "\u200b!\n", 1, 4, 1, "\\u200b!\n      ^\n"},
		{"behind the end", "* * *\n", 1, 6, 1, "* * *\n     ^\n"},
		{"line end of DOS", "ab\r\n", 1, 3, 1, "ab\n  ^\n"},
		{"whole line", "abc", 1, 0, 0, "abc\n"},
		{"byte order mark is not shown", "\ufeff61 x\n", 1, 1, 2, "61 x\n^^\n"},
		{"long line is cut", long + "!" + long, 1, 301, 1,
			"..." + long[:48] + "!" + long[:47] + "...\n" + strings.Repeat(" ", 51) + "^\n"},
		{"no such line", "a\n", 9, 1, 1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Diagnostic{Line: tt.line, Column: tt.column, Length: tt.length}
			if got := d.Excerpt(tt.text); got != tt.want {
				t.Errorf("Excerpt(%q)\ngot\n%s\nwant\n%s", tt.text, got, tt.want)
			}
		})
	}
}
