// A report through a bufio.Writer, whose buffer reaches the file after the sync.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

func save(lines ...string) {
	file, err := os.Create("report.new")
	need(err)
	writer := bufio.NewWriter(file)
	for _, line := range lines {
		fmt.Fprintln(writer, line)
	}
	fmt.Fprintln(writer, "end")
	if mended {
		need(writer.Flush())
	}
	need(file.Sync())
	need(writer.Flush())
	need(file.Close())
	need(os.Rename("report.new", "report"))
	syncFolder(".")
}

func load() string {
	text := read("report")
	require(strings.HasSuffix(text, "\nend\n"), "report: torn")
	return text
}

func main() {
	switch enter() {
	case "setup":
		save("monday 3")
	case "run":
		save("monday 3", "tuesday 5")
		acknowledge("tuesday")
		save("monday 3", "tuesday 5", "friday 8")
		acknowledge("friday")
	case "check":
		load()
	case "dump":
		fmt.Print(load())
	}
}
