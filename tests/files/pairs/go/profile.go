// A profile that is written beside the old one and renamed over it.
package main

import (
	"fmt"
	"os"
	"strings"
)

func save(text string) {
	file, err := os.Create("profile.tmp")
	need(err)
	_, err = file.WriteString(text)
	need(err)
	if mended {
		need(file.Sync())
	}
	need(file.Close())
	need(os.Rename("profile.tmp", "profile"))
	syncFolder(".")
}

func load() string {
	text := read("profile")
	require(strings.HasPrefix(text, "name=") && strings.HasSuffix(text, "\n"), "profile: damaged")
	return text
}

func main() {
	switch enter() {
	case "setup":
		save("name=ada\n")
	case "run":
		save("name=grace\n")
		acknowledge("grace")
		save("name=barbara\n")
		acknowledge("barbara")
	case "check":
		load()
	case "dump":
		fmt.Print(load())
	}
}
