package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Column is a column of the list of jobs.
type Column struct {
	Name  string `json:"name"`
	Width int    `json:"width,omitempty"` // 0: as its texts need
}

// ColumnNames are the names of the columns that can be chosen, in their usual order.
var ColumnNames = []string{"schedule", "next", "node", "last", "took", "p95", "runs", "user", "labels", "owner", "source", "command"}

// Limits of the width of a column.
const (
	LeastColumn = 3
	MostColumn  = 200
)

// String returns a column as in the file: "next", or "command:40" for one with a width.
func (c Column) String() string {
	if c.Width == 0 {
		return c.Name
	}
	return c.Name + ":" + strconv.Itoa(c.Width)
}

func (s *Settings) setColumns(value any) string {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return `invalid columns: expected a list like ["next", "last", "command:40"]`
	}
	var columns []Column
	for _, one := range list {
		text, _ := one.(string)
		c, why := readColumn(text)
		if why == "" && slices.ContainsFunc(columns, func(o Column) bool { return o.Name == c.Name }) {
			why = fmt.Sprintf("the column %q is there twice", c.Name)
		}
		if why != "" {
			return "invalid columns: " + why
		}
		columns = append(columns, c)
	}
	s.Columns = columns
	return ""
}

func readColumn(text string) (c Column, why string) {
	name, number, hasWidth := strings.Cut(text, ":")
	c.Name = name
	if !slices.Contains(ColumnNames, name) {
		return c, fmt.Sprintf("no column is called %q: expected %s", name, strings.Join(ColumnNames, ", "))
	}
	if hasWidth {
		n, err := strconv.Atoi(number)
		if err != nil || n < LeastColumn || n > MostColumn {
			return c, fmt.Sprintf("width of %q: expected %d to %d", name, LeastColumn, MostColumn)
		}
		c.Width = n
	}
	return c, ""
}
