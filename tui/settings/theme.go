package settings

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cronring/cronring/tui/canvas"
)

// Theme is a [themes.NAME] table: another theme with other colours for some roles.
type Theme struct {
	Base   string                 // one of Themes
	Colors map[canvas.Role]string // "#rrggbb", or the number of a colour of the terminal
}

// roles are the names of roles in the file.
var roles = map[string]canvas.Role{
	"ok": canvas.Good, "failed": canvas.Bad, "late": canvas.Doubt, "running": canvas.Busy, "off": canvas.Off, "new": canvas.Fresh,
	"title": canvas.Title, "line": canvas.Rule, "match": canvas.Match,
}

// basic are the names of the colours that every terminal has, in their order.
var basic = []string{"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"}

// themeName is a name that needs no quotes in the file.
var themeName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,30}$`)

// addThemes adds the themes of the file.
func (f *findings) addThemes(value any) {
	tables, ok := value.(map[string]any)
	if !ok {
		f.add("invalid themes: expected a header like [themes.night]", "themes")
		return
	}
	f.Custom = map[string]Theme{}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		table, ok := tables[name].(map[string]any)
		switch {
		case !ok:
			f.add("invalid themes: expected a header like [themes.night]", "themes", name)
		case !themeName.MatchString(name):
			f.add(fmt.Sprintf("invalid name %q of a theme: expected letters, digits, - and _", name), "themes", name)
		case slices.Contains(Themes, name):
			f.add(fmt.Sprintf("the theme %q exists: expected another name", name), "themes", name)
		default:
			f.addTheme(name, table)
		}
	}
}

// addTheme adds a theme without its invalid colours.
func (f *findings) addTheme(name string, table map[string]any) {
	theme := Theme{Base: Themes[0], Colors: map[canvas.Role]string{}}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		role, isRole := roles[key]
		color, isColor := readColor(table[key])
		why := ""
		switch {
		case key == "base":
			why = setChoice(&theme.Base, "base", table[key], Themes)
		case !isRole:
			why = fmt.Sprintf("unknown colour %q: expected base, %s", key, strings.Join(slices.Sorted(maps.Keys(roles)), ", "))
		case !isColor:
			why = fmt.Sprintf(`invalid colour of %s: expected "#rrggbb", a number from 0 to 255, or a name like "red" or "bright-red"`, key)
		default:
			theme.Colors[role] = color
		}
		f.add(why, "themes", name, key)
	}
	f.Custom[name] = theme
}

var levels = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)

// readColor returns a colour as Theme has it.
func readColor(value any) (string, bool) {
	if n, ok := value.(int64); ok {
		return strconv.FormatInt(n, 10), n >= 0 && n <= 255
	}
	text, _ := value.(string)
	if levels.MatchString(text) {
		return text, true
	}
	name, bright := strings.CutPrefix(text, "bright-")
	n := slices.Index(basic, name)
	if bright && n >= 0 {
		n += len(basic)
	}
	return strconv.Itoa(n), n >= 0
}
